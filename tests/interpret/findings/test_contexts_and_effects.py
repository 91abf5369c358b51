"""Contexts near their limit, context lost before a failure, and effects that nothing confirms."""

from __future__ import annotations

import pytest
from finding_runs import Run
from made_runs import agent, chat, said
from made_runs import rows as rows_of_run
from spans import read_run
from story import text

from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.rules.ruleset import NO_RULES, Ruleset
from retrospan.schemas import attributes, semconv
from retrospan.schemas.findings import FindingRow


def reading(tokens: int | None, model: str = "gpt-4o", **more: object) -> Run:
    run = Run(4, "Read it.")
    said = {semconv.USAGE_INPUT_TOKENS: tokens, semconv.REQUEST_MODEL: model, semconv.RESPONSE_MODEL: model}
    return run.says("Read.", more={**said, **{key.replace("__", "."): value for key, value in more.items()}})


def found(run: Run, rules: Ruleset = NO_RULES) -> list[FindingRow]:
    spans = [run.root, *run.acts]
    return rows_of(read_run(run.run_id, spans, rules=rules), "default", 1, None).findings


@pytest.mark.parametrize(
    ("tokens", "model", "limit", "rules"),
    [
        (115_200, "gpt-4o", None, ["full_context"]),
        (115_199, "gpt-4o", None, []),
        (120_000, "openai/gpt-4o-2024-08-06", None, ["full_context"]),
        (120_000, "nobody-knows-1", None, []),
        (128_001, "gpt-4o", None, []),  # it was read: the table is wrong
        (None, "gpt-4o", None, []),
        (900, "nobody-knows-1", 1_000, ["full_context"]),
        (1_100, "gpt-4o", 1_000, ["full_context"]),
        (900, "gpt-4o", 1_001, []),
        (900, "gpt-4o", 0, []),
    ],
)
def test_a_context_is_full_from_nine_tenths_on(
    tokens: int | None, model: str, limit: int | None, rules: list[str]
) -> None:
    run = reading(tokens, model, **({} if limit is None else {attributes.CONTEXT_LIMIT: limit}))
    assert [each.rule for each in found(run)] == rules


def test_limits_of_ones_own_stand_above_the_published_ones() -> None:
    text = '[[limit]]\nmodels = ["Acme-1", "gpt-4o"]\ntokens = 2_000\nfrom = 2026-01-01\n'
    rules = Ruleset.parse(text, "rules.toml")
    assert rules.hash and not rules.rules
    assert rules.hash != Ruleset.parse(text.replace("2_000", "3_000"), "rules.toml").hash
    (finding,) = found(reading(1_900, "acme-1"), rules)
    assert "1,900 of the 2,000 tokens that acme-1 can read (95 %, by the table rules)" in finding.explanation
    assert found(reading(1_900, "gpt-4o"), rules) and not found(reading(1_900, "gpt-4o"))


def losing(message: str, kind: str = "BadRequest", *, goes_on: bool = False) -> Run:
    run = Run(4, "Book it.")
    run.does("wishes", {"of": "T-1"}, {"seat": "aisle", "bags": 0})
    run.does("flights", {"to": "OSL"}, [{"flight": "SK-4012"}])
    run.history = [run.history[0], *run.history[-2:]]
    run.does("book", {"flight": "SK-4012"}, {"hold": 15, "seat": None})
    run.model(None, error=f"{kind}: {message}")
    if goes_on:
        return run.says("It is booked.")
    run.root.status, run.root.status_message = "error", message
    return run


def test_lost_context_counts_before_a_failure_that_nothing_mended() -> None:
    (finding,) = found(losing("no seat"))
    assert finding.rule == "lost_context" and finding.step == 5 and finding.severity == "error"
    assert "no longer read 2 messages" in finding.explanation and "step 7 failed" in finding.explanation
    assert found(losing("no seat", goes_on=True)) == []
    assert found(losing("slow down, 429", "RateLimitError")) == []


def paying(*acts: tuple[str, str], key: str | None = "pay-1") -> Run:
    """Return a run of payments: what each does, and how it ends."""
    run = Run(4, "Pay it.")
    for effect, end in acts:
        run.does(
            "pay",
            {"bill": 1},
            {"paid": True, "receipt": "RC-77120"} if end == "ok" else None,
            error="" if end == "ok" else end,
            effect=effect,
            idempotency__key=key,
        )
    return run.says("So.")


@pytest.mark.parametrize(
    ("acts", "key", "times"),
    [
        ([("write", "Timeout: x")], "pay-1", 1),
        ([("write", "Timeout: x")], None, 1),
        ([("destructive", "Timeout: x")], "pay-1", 1),
        ([("read", "Timeout: x")], "pay-1", 0),
        ([("write", "ok")], "pay-1", 0),
        ([("write", "Timeout: x"), ("write", "ok")], "pay-1", 0),
        ([("write", "Timeout: x"), ("write", "ok")], None, 0),
        ([("write", "ok"), ("write", "Timeout: x")], "pay-1", 1),
    ],
)
def test_an_effect_is_unconfirmed_until_something_settles_it(
    acts: list[tuple[str, str]], key: str | None, times: int
) -> None:
    rules = [each.rule for each in found(paying(*acts, key=key))]
    assert rules == ["unconfirmed_effect"] * times


def test_an_effect_that_was_undone_is_settled() -> None:
    run = paying(("write", "Timeout: x"))
    undone = run.acts[1].span_id
    run.does("repay", {"bill": 1}, {"repaid": True, "receipt": "RC-1"}, effect="write", compensates=undone)
    assert found(run) == []


def test_a_run_without_acts_has_no_finding() -> None:
    assert rows_of_run(agent()).findings == []
    assert rows_of_run(agent(), chat(1, [said("user", "Hi")], "Hello 42.")).findings == []
    run = Run(4, "")
    run.model(text("assistant", ""))
    assert found(run) == []
