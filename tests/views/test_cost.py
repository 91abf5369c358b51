"""What runs cost: each call once, unknown with its reason, and what fills the prompts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from fix_recordings import Recording
from spans import read_runs, spans_of_requests
from story import Ask, Story, calls, gives, text

from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.prices.history import PriceHistory
from retrospan.ingest.prices.kept_prices import PUBLISHED
from retrospan.ingest.prices.price_file import parse_prices
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas.costs import CostRow

TABLE = parse_prices(
    """
currency = "USD"
[[price]]
provider = "acme"
models = "m-1"
per_million = { input = 1, cache_read = 0.1, output = 10 }
""",
    "p",
)
PRICES = PriceHistory(((0, (TABLE,)),))
PUBLISHED_PRICES = PriceHistory(((0, (parse_prices(PUBLISHED.read_text(), "published.toml"),)),))


def priced(run_id: str = "r", **about: Any) -> Story:
    story = Story(run_id, **about)
    story.prices = PRICES
    return story


def used(given: int, made: int, **more: object) -> dict[str, object]:
    return {"gen_ai.usage.input_tokens": given, "gen_ai.usage.output_tokens": made, **more}


def test_a_run_costs_what_its_calls_cost(views: EmbeddedStore, ask: Ask) -> None:
    story = priced()
    story.hear(text("user", "x"))
    story.model(calls("search", "c1", q="a"), more=used(1_000, 100))
    story.tool("search", {"q": "a"}, "found", call_id="c1")
    story.model(
        text("assistant", "it is so"),
        more=used(2_000, 50) | {"gen_ai.usage.cache_read.input_tokens": 1_500, "gen_ai.usage.cost": 0.25},
    )
    story.tell(views)
    # 1,000 × 1 + 100 × 10 and 500 × 1 + 1,500 × 0.1 + 50 × 10, in millionths
    (run,) = ask("SELECT toString(cost) AS cost, currency, cost_unknown FROM runs WHERE run_id = 'r'")
    assert run == {"cost": "0.00315", "currency": "USD", "cost_unknown": None}
    found = ask(
        "SELECT ordinal, toString(cost) AS cost, currency, price_list, stated_cost, stated_currency "
        "FROM model_calls WHERE run_id = 'r' ORDER BY ordinal"
    )
    assert [call["cost"] for call in found] == ["0.002", "0.00115"]
    assert {call["price_list"] for call in found} == {TABLE.name}
    assert [(call["stated_cost"], call["stated_currency"]) for call in found] == [(None, None), (0.25, None)]
    assert ask("SELECT step, toString(cost) AS cost FROM steps WHERE run_id = 'r' ORDER BY step") == [
        {"step": 1, "cost": "0.002"},
        {"step": 2, "cost": None},
        {"step": 3, "cost": "0.00115"},
    ]
    assert ask("SELECT agent_name, toString(cost) AS cost, currency, cost_unknown FROM agents") == [
        {"agent_name": "orla", "cost": "0.00315", "currency": "USD", "cost_unknown": None}
    ]
    rows = ask(
        "SELECT model_call, step, bucket, tokens, toString(price) AS price, toString(amount) AS amount, wasted "
        "FROM cost WHERE run_id = 'r' ORDER BY model_call, bucket"
    )
    assert [tuple(row.values()) for row in rows] == [
        (1, 1, "input", 1_000, "1", "0.001", None),
        (1, 1, "output", 100, "10", "0.001", None),
        (2, 3, "cache_read", 1_500, "0.1", "0.00015", None),
        (2, 3, "input", 500, "1", "0.0005", None),
        (2, 3, "output", 50, "10", "0.0005", None),
    ]


def test_one_call_without_a_price_leaves_the_run_without_one(views: EmbeddedStore, ask: Ask) -> None:
    story = priced()
    story.hear(text("user", "x"))
    story.model(calls("search", q="a"))
    story.tool("search", {"q": "a"}, "found")
    story.model(text("assistant", "so"), model="llama-at-home", agent="bo")
    story.tell(views)
    (run,) = ask("SELECT cost, currency, cost_unknown FROM runs")
    reason = "no price table has the model llama-at-home of acme"
    assert run == {"cost": None, "currency": None, "cost_unknown": f"1 of 2 model calls: {reason}"}
    found = ask("SELECT agent_name, toString(cost) AS cost, cost_unknown FROM agents ORDER BY agent_name")
    assert [tuple(row.values()) for row in found] == [("bo", None, reason), ("orla", "0.00003", None)]
    assert ask("SELECT DISTINCT amount, unknown FROM cost WHERE model = 'llama-at-home'") == [
        {"amount": None, "unknown": reason}
    ]


def test_a_call_that_failed_without_tokens_is_neither_free_nor_unknown(
    views: EmbeddedStore, ask: Ask
) -> None:
    story = priced()
    story.hear(text("user", "x"))
    nothing = {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None}
    story.model(None, error="RateLimitError", more=nothing)
    story.model(text("assistant", "so"), more=used(10, 1))
    story.tell(views)
    assert ask("SELECT toString(cost) AS cost FROM runs") == [{"cost": "0.00002"}]
    assert ask("SELECT cost, cost_unknown FROM model_calls WHERE ordinal = 1") == [
        {"cost": None, "cost_unknown": "it failed, and says no tokens"}
    ]
    assert ask("SELECT DISTINCT model_call FROM cost") == [{"model_call": 2}]


def test_tokens_of_a_span_above_count_where_no_call_says_any(views: EmbeddedStore, ask: Ask) -> None:
    story = priced()
    story.hear(text("user", "x"))
    nothing = {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None}
    for _ in range(2):
        story.model(text("assistant", "so"), more=nothing)
    story.root.attributes = {**story.root.attributes, **used(500, 5)}
    story.tell(views)
    assert ask("SELECT toString(cost) AS cost, input_tokens FROM runs") == [
        {"cost": "0.00055", "input_tokens": 500}
    ]
    whole = ask("SELECT model_call, bucket, toString(amount) AS amount FROM cost WHERE isNotNull(amount)")
    assert sorted((row["model_call"], row["bucket"], row["amount"]) for row in whole) == [
        (None, "input", "0.0005"),
        (None, "output", "0.00005"),
    ]


def test_a_roll_up_beside_the_calls_counts_nothing(views: EmbeddedStore, ask: Ask) -> None:
    story = priced()
    story.hear(text("user", "x"))
    story.model(text("assistant", "so"), more=used(10, 1))
    story.root.attributes = {**story.root.attributes, **used(10, 1)}
    story.tell(views)
    assert ask("SELECT toString(cost) AS cost FROM runs") == [{"cost": "0.00002"}]


def test_what_loops_and_retries_wasted(views: EmbeddedStore, ask: Ask) -> None:
    story = priced()
    story.hear(text("user", "x"))
    for number in range(3):
        story.model(calls("search", f"c{number}", q="a"))
        story.tool("search", {"q": "a"}, [], call_id=f"c{number}")
    story.model(calls("send", "s1", to="b"))
    story.tool("send", {"to": "b"}, None, error="Timeout", call_id="s1")
    story.hear(gives("Timeout", "s1"))
    story.model(calls("send", "s2", to="b"))
    story.tool("send", {"to": "b"}, "sent", call_id="s2")
    story.model(text("assistant", "done"))
    story.tell(views)
    found = ask("SELECT DISTINCT model_call, wasted FROM cost ORDER BY model_call")
    assert [row["wasted"] for row in found] == [None, "loop", "loop", None, "retry", None]


def test_the_message_that_fills_the_prompts_is_found(views: EmbeddedStore, ask: Ask) -> None:
    story = priced()
    story.hear(text("user", "help me"))
    story.model(calls("read_manual", "c1", page="1"), more=used(100, 5))
    story.tool("read_manual", {"page": "1"}, "manual " * 2_000, call_id="c1")
    for _ in range(3):
        story.model(text("assistant", "hm"), more=used(4_000, 5))
    story.tell(views)
    found = ask(
        "SELECT part, role, tool_name, first_call, prompts, bytes, share, cost_estimated, currency, text "
        "FROM prompt_shares ORDER BY share DESC"
    )
    manual = found[0]
    assert (manual["part"], manual["role"], manual["tool_name"]) == ("message", "tool", "read_manual")
    assert (manual["first_call"], manual["prompts"], manual["currency"]) == (2, 3, "USD")
    assert 0.9 < manual["share"] < 0.99 and manual["text"].startswith("manual manual")
    assert abs(sum(row["share"] for row in found) - 1) < 1e-9
    # All prompts cost 12,100 millionths.
    assert abs(sum(row["cost_estimated"] for row in found) - 0.0121) < 1e-9
    assert [row["part"] for row in found if row["role"] is None] == ["system"]


def test_two_currencies_make_no_sum(views: EmbeddedStore, ask: Ask) -> None:
    later = parse_prices(
        'currency = "EUR"\n[[price]]\nmodels = "m-1"\nper_million = { input = 1, output = 1 }', "p"
    )
    story = Story("r")
    story.prices = PriceHistory(((0, (TABLE,)), (story.started_at + story.beat + 1, (later,))))
    story.hear(text("user", "x"))
    story.model(text("assistant", "a"))
    story.model(text("assistant", "b"))
    for act in story.acts:
        act.arrived_at = act.started_at + 1
    story.tell(views)
    assert ask("SELECT cost, cost_unknown FROM runs") == [
        {"cost": None, "cost_unknown": "its prices are in EUR and USD"}
    ]


@pytest.mark.parametrize(
    ("said", "stated"),
    [
        ({"llm.cost.total": 0.001, "llm.cost.prompt": 5.0}, ("0.001", "USD")),
        ({"llm.cost.prompt": 0.5, "llm.cost.completion": 0.25}, ("0.75", "USD")),
        ({"gen_ai.usage.cost.amount": 0.1, "gen_ai.usage.cost.currency": "EUR"}, ("0.1", "EUR")),
        ({"operation.cost": 3}, ("3", "USD")),
        ({"mlflow.llm.cost": '{"input_cost": 1, "total_cost": 1.5}'}, ("1.5", "USD")),
        ({"langfuse.observation.cost_details": '{"total": 2}'}, ("2", "USD")),
        ({"mlflow.llm.cost": "[1"}, (None, None)),
        ({"gen_ai.usage.cost": -1}, (None, None)),
        ({"gen_ai.usage.cost": True}, (None, None)),
        ({"gen_ai.usage.cost": float("nan")}, (None, None)),
        ({"gen_ai.usage.cost": "free"}, (None, None)),
        ({"gen_ai.usage.cost": "9e99999"}, (None, None)),
        ({"llm.cost.prompt": 0.5}, (None, None)),
    ],
)
def test_what_is_stated_is_shown_as_stated(
    said: dict[str, object], stated: tuple[str | None, str | None]
) -> None:
    story = priced()
    story.hear(text("user", "x"))
    story.model(text("assistant", "so"), more=said)
    (call,) = story.rows().model_calls
    amount = None if call.stated_cost is None else f"{Decimal(call.stated_cost).normalize():f}"
    assert (amount, call.stated_currency) == stated
    assert call.cost is not None and Decimal(call.cost) == Decimal("0.00003")


def test_costs_of_recordings_add_up_or_say_why_not(recording: Recording) -> None:
    """Of every recorded run: the cost is that of its rows, and where there is none there is a reason."""
    for run in read_runs(spans_of_requests(recording.traces, recording.logs)):
        rows = rows_of(run, "default", 1, None, PUBLISHED_PRICES)
        (row,) = rows.runs
        assert (row.cost is None) == (row.cost_unknown is not None)
        assert (row.cost is None) == (row.currency is None)
        for line in rows.costs:
            assert (line.amount is None) == (line.unknown is not None)
        assert {line.model_call for line in rows.costs} <= {0, *(call.ordinal for call in rows.model_calls)}
        if row.cost is not None:
            assert Decimal(row.cost) == _sum(rows.costs)
            assert sum(line.tokens or 0 for line in rows.costs) == (row.input_tokens or 0) + (
                row.output_tokens or 0
            )


def _sum(lines: list[CostRow]) -> Decimal:
    return sum((Decimal(line.amount or 0) for line in lines), Decimal(0))
