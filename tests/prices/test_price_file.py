"""The file of prices: what it may say, and how errors name the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrospan.ingest.prices.kept_prices import PUBLISHED
from retrospan.ingest.prices.model_names import names_of, plain_provider
from retrospan.ingest.prices.price_file import parse_prices, read_price_file
from retrospan.schemas.errors import ConfigError

TOP = 'currency = "USD"\n'
ONE = '[[price]]\nmodels = "m"\n'
GOOD = TOP + ONE + "per_million = { input = 1, output = 2 }\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("price = 1 1", "p.toml line 1 is not TOML"),
        (ONE, 'p.toml line 1: currency: missing: write, say, currency = "USD" at the top'),
        (GOOD.replace("USD", "USS"), "currency: 'USS' is not a currency of ISO 4217; did you mean"),
        (GOOD.replace('"USD"', "1"), "currency: 1 is not a currency"),
        (GOOD.replace("USD", "BTC"), "'BTC' is not a currency"),
        (TOP, "price: there are no prices"),
        (TOP + "[price]\n", "price: write [[price]], with two brackets"),
        (TOP + 'name = "a\\nb"\n' + ONE, "p.toml line 2: name:"),
        (TOP + 'curency = "USD"\n', "'curency' is not a key here; did you mean 'currency'?"),
        (
            GOOD.replace("models", "model"),
            "p.toml line 3: model: 'model' is not a key here; did you mean 'models'?",
        ),
        (GOOD.replace('"m"', "[]"), "p.toml line 3: models: missing"),
        (GOOD.replace('"m"', '["m", 1]'), "models: ['m', 1] is not a name or a list of names"),
        (GOOD.replace('"m"', '"*"'), "'*' would give every unknown model this price"),
        (GOOD.replace("input = 1", "input = -1"), "p.toml line 4: per_million: input: -1 is not a price"),
        (GOOD.replace("input = 1", "input = nan"), "input: NaN is not a price"),
        (GOOD.replace("input = 1", "input = inf"), "input: Infinity is not a price"),
        (GOOD.replace("input = 1", "input = true"), "input: True is not a price"),
        (GOOD.replace("input = 1", 'input = "1"'), "input: '1' is not a price"),
        (GOOD.replace("input = 1", "input = 1e9"), "is not a price: it is between 0 and 1,000,000,000"),
        (GOOD.replace("input = 1", "input = 0.0000001"), "has more than 6 decimals"),
        (GOOD.replace("input = 1", "cached = 1"), "'cached' is not a kind of tokens"),
        (TOP + ONE, "per_million: missing"),
        (GOOD + "from = 2026-01-01T00:00:00Z\n", "p.toml line 5: from:"),
        (GOOD + 'from = "2026-01-01"\n', "is not a day: write it as 2026-01-31, without quotes"),
        (
            GOOD + "from = 2026-01-02\nuntil = 2026-01-02\n",
            "until: 2026-01-02 is not after from = 2026-01-02",
        ),
        (GOOD + "[[price.tier]]\nabove_input_tokens = 0\n", "above_input_tokens: 0 is not a whole number"),
        (GOOD + "[[price.tier]]\nabove_input_tokens = 9\n", "per_million: missing"),
        (GOOD + "[price.service.batch]\nfactor = 0.5\n", "service: 'factor' is not a key here"),
        (
            GOOD + GOOD.removeprefix(TOP),
            "p.toml line 6: 'm' has two prices for the same days: that of line 3",
        ),
        (
            GOOD
            + 'until = 2026-02-01\n[[price]]\nmodels = ["n", "M"]\nfrom = 2026-01-31\nper_million = { input = 1 }\n',
            "p.toml line 7: 'm' has two prices for the same days",
        ),
        (GOOD + 'provider = "a"\n' + GOOD.removeprefix(TOP) + 'provider = ["b", "A"]\n', "two prices"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_prices(text, "p.toml")
    assert reason in str(refused.value)


def test_prices_of_other_providers_and_other_days_do_not_overlap() -> None:
    text = GOOD + 'provider = "a"\nuntil = 2026-02-01\n'
    for more in ('provider = "b"\n', 'provider = "a"\nfrom = 2026-02-01\n'):
        assert len(parse_prices(text + GOOD.removeprefix(TOP) + more, "p").prices) == 2


def test_the_name_of_a_table_is_that_of_its_meaning() -> None:
    name = parse_prices(GOOD, "p").name
    assert name.startswith("own:")
    assert parse_prices("# as agreed\n" + GOOD.replace("input = 1,", "input = 1.00,"), "p").name == name
    assert parse_prices(GOOD.replace("input = 1", "input = 1.01"), "p").name != name
    assert parse_prices(f'name = "acme"\n{GOOD}', "p").name.startswith("acme:")


def test_the_published_table_can_be_read_and_says_whose_it_is() -> None:
    text = PUBLISHED.read_text()
    table = parse_prices(text, "published.toml")
    assert table.name.startswith("published-") and len(table.prices) > 400
    assert "Copyright (c) Pydantic" in text and "MIT licence" in text


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("google", "gemini-2.5-pro"),
        ("google", "gemini-2.5-flash-lite"),
        ("anthropic", "claude-opus-5"),
        ("anthropic", "claude-sonnet-5-5-20261001"),
        ("aws", "global.anthropic.claude-opus-5"),
        ("openai", "gpt-6-sol-2026-09-01"),
        ("azure", "gpt-6-sol"),
        ("x-ai", "grok-4.7"),
    ],
)
def test_a_model_has_its_published_price_though_a_table_cannot_say_all_its_names(
    provider: str, model: str
) -> None:
    table = parse_prices(PUBLISHED.read_text(), "published.toml")
    assert all("output" in price.standard.per_million for price in table.prices_of(provider, model))
    assert table.prices_of(provider, model)


def test_what_is_left_out_of_a_pattern_has_no_price_of_it() -> None:
    table = parse_prices(PUBLISHED.read_text(), "published.toml")
    speech = table.prices_of("google", "gemini-2.5-pro-preview-tts")
    assert speech and {price.models for price in speech} != {
        price.models for price in table.prices_of("google", "gemini-2.5-pro")
    }


def test_a_file_that_others_can_write_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(GOOD)
    file.chmod(0o666)
    with pytest.raises(ConfigError, match="can be written by others"):
        read_price_file(file)
    with pytest.raises(ConfigError, match="cannot read"):
        read_price_file(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("gpt-5", ["gpt-5"]),
        ("GPT-5-2025-08-07", ["gpt-5-2025-08-07", "gpt-5"]),
        ("openai/gpt-5-2025-08-07", ["openai/gpt-5-2025-08-07", "gpt-5-2025-08-07", "openai/gpt-5", "gpt-5"]),
        ("openai:gpt-5", ["openai:gpt-5", "gpt-5"]),
        ("models/gemini-2.5-pro", ["models/gemini-2.5-pro", "gemini-2.5-pro"]),
        ("claude-sonnet-4-5@20250929", ["claude-sonnet-4-5@20250929", "claude-sonnet-4-5"]),
        ("claude-3-5-haiku-latest", ["claude-3-5-haiku-latest", "claude-3-5-haiku"]),
        (
            "anthropic.claude-sonnet-4-20250514-v1:0",
            ["anthropic.claude-sonnet-4-20250514-v1:0", "anthropic.claude-sonnet-4"],
        ),
        ("gpt-4-0613", ["gpt-4-0613"]),
        ("ft:gpt-4o:acme::1", ["ft:gpt-4o:acme::1"]),
        ("llama3.2:latest", ["llama3.2:latest", "llama3.2"]),
        ("/", ["/"]),
        ("", []),
    ],
)
def test_names_that_a_model_may_have(model: str, names: list[str]) -> None:
    assert [*names_of(model)] == names


def test_providers_are_called_as_tables_call_them() -> None:
    assert [plain_provider(name) for name in ("gcp.vertex_ai", "AWS.Bedrock", "openai", "ACME")] == [
        "google",
        "aws",
        "openai",
        "acme",
    ]
