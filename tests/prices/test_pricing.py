"""The price of a request: invoices to the cent, and no price where there is none."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.prices.kept_prices import PUBLISHED
from retrospan.ingest.prices.price_file import parse_prices
from retrospan.ingest.prices.price_table import PriceTable
from retrospan.ingest.prices.pricing import Cost, Usage, cost_of

NOON = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()) * 1_000_000_000
TABLE = parse_prices(
    """
currency = "USD"

[[price]]
provider = "openai"
models = ["gpt-5", "gpt-5-mini*"]
from = 2026-01-01
until = 2026-11-01
per_million = { input = 2, cache_read = 0.2, output = 12 }

[[price]]
provider = "openai"
models = "gpt-5"
from = 2026-11-01
per_million = { input = 1.25, cache_read = 0.125, output = 10 }
[price.service.batch]
per_million = { input = 0.625, cache_read = 0.0625, output = 5 }

[[price]]
provider = "anthropic"
models = ["claude-sonnet-4-5*"]
per_million = { input = 3, cache_read = 0.3, cache_write = 3.75, output = 15 }
[[price.tier]]
above_input_tokens = 200000
per_million = { input = 6, cache_read = 0.6, cache_write = 7.5, output = 22.5 }

[[price]]
provider = "google"
models = ["gemini-2.5-flash"]
per_million = { input = 0.3, input_audio = 1, cache_read = 0.03, output = 2.5 }

[[price]]
provider = "openai"
models = "gpt-image-1"
per_million = { input = 5, input_image = 10, output = 0, output_image = 40 }

[[price]]
provider = "ollama"
models = "llama3*"
per_million = { input = 0, output = 0 }
""",
    "prices.toml",
)
PUBLISHED_TABLE = parse_prices(PUBLISHED.read_text(), "published.toml")


def priced(
    provider: str | None,
    model: str | None,
    tokens: TokenUsage,
    *,
    service: str | None = None,
    at: int = NOON,
    table: PriceTable = TABLE,
) -> Cost:
    usage = Usage(
        provider=provider,
        model=model,
        buckets=tokens.buckets(),
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        service=service,
        at=at,
    )
    return cost_of(usage, (table,))


#: Usage as the providers answer it, and what they bill for it by the prices above.
INVOICES = {
    # usage: prompt_tokens 10000 (cached_tokens 6000), completion_tokens 2000 (reasoning_tokens 1500):
    # 4,000 × 1.25 + 6,000 × 0.125 + 2,000 × 10 = 5,000 + 750 + 20,000 millionths
    "openai, cached and reasoning": (
        ("openai", "gpt-5-2025-08-07", TokenUsage(10_000, 2_000, cached=6_000, reasoning=1_500), None),
        "0.02575",
    ),
    "openai, batch": (
        ("openai", "gpt-5", TokenUsage(10_000, 2_000, cached=6_000, reasoning=1_500), "batch"),
        "0.012875",
    ),
    # usage: input_tokens 500, cache_creation_input_tokens 20000, cache_read_input_tokens 80000, output_tokens 1000:
    # 500 × 3 + 20,000 × 3.75 + 80,000 × 0.3 + 1,000 × 15 = 1,500 + 75,000 + 24,000 + 15,000
    "anthropic, written and read": (
        ("anthropic", "claude-sonnet-4-5-20250929", TokenUsage(100_500, 1_000, 80_000, None, 20_000), None),
        "0.1155",
    ),
    # 200,001 tokens of input are a long request, of which every token costs more.
    "anthropic, long": (
        ("aws.bedrock", "claude-sonnet-4-5", TokenUsage(200_001, 0), None),
        None,
    ),
    "anthropic, just long": (
        ("anthropic", "anthropic/claude-sonnet-4-5", TokenUsage(200_001, 1_000), None),
        "1.222506",
    ),
    "anthropic, not yet long": (
        ("anthropic", "anthropic/claude-sonnet-4-5", TokenUsage(200_000, 1_000), None),
        "0.615",
    ),
    # usageMetadata: promptTokenCount 5000 (cachedContentTokenCount 1000, AUDIO 0), candidatesTokenCount 300,
    # thoughtsTokenCount 700, which come beside the candidates: 4,000 × 0.3 + 1,000 × 0.03 + 1,000 × 2.5
    "gemini, thoughts and cached": (
        (
            "gcp.gemini",
            "models/gemini-2.5-flash",
            TokenUsage(5_000, 1_000, cached=1_000, reasoning=700),
            None,
        ),
        "0.00373",
    ),
    # promptTokensDetails: TEXT 200, AUDIO 800: 200 × 0.3 + 800 × 1 + 100 × 2.5
    "gemini, audio": (
        (
            "gcp.vertex_ai",
            "gemini-2.5-flash",
            TokenUsage(1_000, 100, modal={"input_text": 200, "input_audio": 800}),
            None,
        ),
        "0.00111",
    ),
    # usage: input_tokens 350 (text 50, image 300), output_tokens 4160, all of the image
    "openai, images": (
        (
            "openai",
            "gpt-image-1",
            TokenUsage(350, 4_160, modal={"input_text": 50, "input_image": 300, "output_image": 4_160}),
            None,
        ),
        "0.16965",
    ),
    "a local model of a price of 0": (("ollama", "llama3.2:3b", TokenUsage(900, 90), None), "0"),
}


@pytest.mark.parametrize("name", INVOICES)
def test_an_invoice_is_right_to_the_millionth_of_a_cent(name: str) -> None:
    (provider, model, tokens, service), amount = INVOICES[name]
    cost = priced(provider, model, tokens, service=service)
    assert cost.amount == (None if amount is None else Decimal(amount)), cost
    assert (cost.unknown is None) == (amount is not None)
    assert amount is None or cost.currency == "USD"


def test_published_prices_know_what_providers_bill_today() -> None:
    tokens = TokenUsage(10_000, 2_000, cached=6_000, reasoning=1_500)
    assert priced("openai", "gpt-5-2025-08-07", tokens, table=PUBLISHED_TABLE).amount == Decimal("0.02575")
    batch = priced("openai", "gpt-5", tokens, service="batch", table=PUBLISHED_TABLE)
    assert batch.amount == Decimal("0.012875")
    before = int(datetime(2026, 10, 1, tzinfo=UTC).timestamp()) * 1_000_000_000
    early = priced("openai", "gpt-5", tokens, service="batch", at=before, table=PUBLISHED_TABLE)
    assert early.amount is None and early.unknown == (
        "there is no price of gpt-5 of openai for the service tier 'batch'"
    )


def test_the_day_decides_by_the_clock_of_utc() -> None:
    tokens = TokenUsage(1_000_000, 0)
    turn = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp()) * 1_000_000_000
    assert priced("openai", "gpt-5", tokens, at=turn - 1).amount == 2
    assert priced("openai", "gpt-5", tokens, at=turn).amount == Decimal("1.25")
    assert priced("openai", "gpt-5-mini", tokens, at=turn).unknown == (
        "there is no price of gpt-5-mini of openai for 2026-11-01"
    )
    assert priced("openai", "gpt-5", tokens, at=1).amount is None


@pytest.mark.parametrize(
    ("provider", "model", "tokens", "service", "reason"),
    [
        ("openai", None, TokenUsage(1, 1), None, "no model is named"),
        ("openai", "gpt-4", TokenUsage(1, 1), None, "no price table has the model gpt-4 of openai"),
        ("litellm", "gpt-5", TokenUsage(1, 1), None, "no price table has the model gpt-5 of litellm"),
        (
            "openai",
            "ft:gpt-5:acme",
            TokenUsage(1, 1),
            None,
            "no price table has the model ft:gpt-5:acme of openai",
        ),
        ("openai", "gpt-5-pro", TokenUsage(1, 1), None, "no price table has the model gpt-5-pro of openai"),
        ("openai", "gpt-5", TokenUsage(), None, "its tokens are not known"),
        ("openai", "gpt-5", TokenUsage(1, None), None, "its tokens of output are not known"),
        ("openai", "gpt-5", TokenUsage(None, 1), None, "its tokens of input are not known"),
        (
            "openai",
            "gpt-5",
            TokenUsage(1, 1, cached=2),
            None,
            "the parts of its tokens of input are more than all of them",
        ),
        (
            "openai",
            "gpt-5",
            TokenUsage(9, 9, written=1),
            None,
            "there is no price of cache_write of gpt-5 of openai",
        ),
        (
            "openai",
            "gpt-5",
            TokenUsage(9, 9),
            "flex",
            "there is no price of gpt-5 of openai for the service tier 'flex'",
        ),
        (
            "gcp.gemini",
            "gemini-2.5-flash",
            TokenUsage(9, 9, modal={"output_image": 9}),
            None,
            "there is no price of output_image of gemini-2.5-flash of gcp.gemini",
        ),
    ],
)
def test_what_has_no_price_is_not_free(
    provider: str, model: str | None, tokens: TokenUsage, service: str | None, reason: str
) -> None:
    cost = priced(provider, model, tokens, service=service)
    assert cost.amount is None and cost.unknown == reason


def test_none_of_a_kind_needs_no_price() -> None:
    assert priced("openai", "gpt-5", TokenUsage(0, 0, cached=0, written=0)).amount == 0


def test_without_a_provider_prices_count_that_all_providers_share() -> None:
    table = parse_prices(
        """
currency = "EUR"
[[price]]
provider = "openai"
models = ["a", "b"]
per_million = { input = 1, output = 1 }
[[price]]
provider = "azure"
models = ["a"]
per_million = { input = 1.0, output = 1 }
[[price]]
provider = "azure"
models = ["b"]
per_million = { input = 2, output = 1 }
""",
        "p",
    )
    same = priced(None, "a", TokenUsage(1_000_000, 0), table=table)
    assert same.amount == 1 and same.currency == "EUR"
    other = priced(None, "b", TokenUsage(1_000_000, 0), table=table)
    assert other.unknown == "the provider of b is not known, and prices differ (azure, openai)"
    assert priced("az.ai.openai", "b", TokenUsage(1_000_000, 0), table=table).amount == 2


def test_a_sum_of_requests_has_no_price_that_depends_on_their_length() -> None:
    usage = Usage(
        provider="anthropic",
        model="claude-sonnet-4-5",
        buckets={"input": 300_000, "output": 1},
        input_tokens=300_000,
        output_tokens=1,
        service=None,
        at=NOON,
        is_sum=True,
    )
    assert cost_of(usage, (TABLE,)).unknown == (
        "claude-sonnet-4-5 of anthropic has another price for long requests, and only their sum is known"
    )


_COUNT = st.one_of(st.integers(0, 10**6), st.integers(0, 2**64 - 1))
_PRICE = st.decimals(0, 999_999_999, places=6)


@given(
    st.tuples(_COUNT, _COUNT, _COUNT, _COUNT, _COUNT),
    st.fixed_dictionaries(
        dict.fromkeys(("input", "cache_read", "cache_write", "output", "reasoning"), _PRICE)
    ),
)
def test_buckets_times_prices_add_up(counts: tuple[int, ...], prices: dict[str, Decimal]) -> None:
    plain, read, written, said, thought = counts
    tokens = TokenUsage(plain + read + written, said + thought, read, thought, written)
    given_prices = ", ".join(f"{name} = {price:f}" for name, price in prices.items())
    table = parse_prices(
        f'currency = "USD"\n[[price]]\nmodels = "m"\nper_million = {{ {given_prices} }}\n', "p"
    )
    cost = priced(None, "m", tokens, table=table)
    # In whole billionths of a millionth, so that nothing is a fraction here.
    exact = sum(
        count * int(prices[name].scaleb(6))
        for name, count in zip(
            ("input", "cache_read", "cache_write", "output", "reasoning"),
            (plain, read, written, said, thought),
            strict=True,
        )
    )
    assert cost.amount is not None and Fraction(cost.amount) == Fraction(exact, 10**12)
    assert {line.bucket: line.tokens for line in cost.lines} == tokens.buckets()
