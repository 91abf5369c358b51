"""What an agent states of a span: observations, checkpoints and effects, and whose span it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from fix_spans import Sent, events, said
from opentelemetry import trace

from retrospan.exporter import recording as r
from retrospan.schemas import attributes as names


def test_statements_are_events_of_the_current_span_whoever_opened_it(sent: Sent) -> None:
    with trace.get_tracer_provider().get_tracer("foreign").start_as_current_span("theirs"):
        r.decide("route", "refund", options=["refund", "deny"], rationale="late", confidence=1)
        seen = r.observe(
            "config/acme",
            {"rate": 100, "region": None},
            source="api",
            valid_from=datetime(2026, 1, 1, tzinfo=UTC),
        )
        r.correct(("config", "a/b"), {"rate": 50}, id="fix", reason="typo")
        r.use("config/acme", "rate", observation=seen)
        r.derive("output:2841", f"observation:{seen}", role="basis")
        made = r.output()
        r.compaction("summary", tokens_before=900, tokens_after=100)
        r.approve("approved", approver="ann", explanation="fine")
    span = sent.named("theirs")
    (decision,) = events(span, names.DECISION)
    assert (decision[names.DECISION_CHOSEN], decision[names.DECISION_CONFIDENCE]) == ("refund", 1.0)
    assert json.loads(decision[names.DECISION_OPTIONS]) == ["refund", "deny"]
    first, second = events(span, names.OBSERVATION)
    assert first[names.OBSERVATION_ID] == seen and json.loads(first[names.CHANGES]) == {
        "rate": 100,
        "region": None,
    }
    assert first[names.VALID_FROM] == "2026-01-01T00:00:00Z" and names.CORRECTION not in first
    assert (second[names.ENTITY_TYPE], second[names.ENTITY_ID], second[names.OBSERVATION_ID]) == (
        "config",
        "a/b",
        "fix",
    )
    assert second[names.CORRECTION] is True and names.PRIORITY not in second
    (used,) = events(span, names.USE)
    assert (used[names.FIELD], used[names.OBSERVATION_ID]) == ("rate", seen)
    (edge,) = events(span, names.DERIVATION)
    assert (edge[names.RELATION], edge[names.SUBJECT], edge[names.ROLE]) == (
        "wasDerivedFrom",
        "output:2841",
        "basis",
    )
    assert said(span, names.OUTPUT_ID) == made
    assert events(span, names.COMPACTION)[0][names.COMPACTION_TOKENS_AFTER] == 100
    assert events(span, names.APPROVAL)[0][names.APPROVAL_APPROVER] == "ann"


def test_a_statement_outside_any_span_gets_one(sent: Sent) -> None:
    r.observe("config/acme", {"rate": 1})
    assert events(sent.named("observation"), names.OBSERVATION)


def test_checkpoints_of_a_run_are_a_chain(sent: Sent) -> None:
    with r.run("clerk"):
        with r.step("a"):
            one = r.checkpoint(trigger="step")
        two = r.checkpoint("mine")
    assert events(sent.named("a"), names.CHECKPOINT) == [
        {names.CHECKPOINT_ID: one, names.CHECKPOINT_TRIGGER: "step"}
    ]
    (second,) = events(sent.named("invoke_agent clerk"), names.CHECKPOINT)
    assert (two, second[names.CHECKPOINT_PARENT]) == ("mine", one)


def test_the_key_of_an_effect_outlives_retries_and_resumes(sent: Sent) -> None:
    keys: list[str] = []
    for attempt, before in ((1, None), (2, None), (1, "run;origin;0-0")):
        with (
            r.run(
                "clerk", id="again" if before else "run", origin=None if before else "origin", resumes=before
            ),
            r.step("mail", 6, attempt=attempt),
            r.effect("send_email", {"to": "a", "n": 1}) as sending,
        ):
            keys.append(sending.key)
            sending.result("sent")
    assert keys == [keys[0]] * 3
    assert keys[0].split(":")[:3] == ["origin", "6", "send_email"] and len(keys[0].split(":")[3]) == 32
    span = sent.spans[0]
    assert span.name == "execute_tool send_email"
    assert said(span, names.IDEMPOTENCY_KEY) == keys[0]
    assert (said(span, names.EFFECT), said(span, names.EFFECT_STATUS)) == ("write", "executed")
    assert said(span, "gen_ai.tool.call.arguments") == {"to": "a", "n": 1}
    assert said(span, "gen_ai.tool.call.result") == '"sent"'


@pytest.mark.parametrize(
    ("error", "status"),
    [(ValueError(), "failed"), (TimeoutError(), "unknown"), (ConnectionResetError(), "unknown"), (KeyboardInterrupt(), "unknown")],
)  # fmt: skip
def test_the_status_of_an_effect_tells_failed_from_not_known(
    sent: Sent, error: BaseException, status: str
) -> None:
    @r.effect(effect="destructive")
    def drop(table: str) -> None:
        raise error

    with pytest.raises(type(error)):
        drop("orders")
    span = sent.named("execute_tool drop")
    assert said(span, names.EFFECT_STATUS) == status
    assert said(span, "gen_ai.tool.call.arguments") == {"table": "orders"}


def test_an_effect_that_was_done_before_is_skipped_and_a_read_has_no_key(sent: Sent) -> None:
    with r.effect("pay", 1) as pay:
        pay.skip("receipt")
    with r.effect("look", effect="read"):
        pass
    assert said(sent.named("execute_tool pay"), names.EFFECT_STATUS) == "skipped"
    assert said(sent.named("execute_tool look"), names.IDEMPOTENCY_KEY) is None


def test_the_span_of_a_tool_of_another_instrumentation_is_annotated(sent: Sent) -> None:
    tracer = trace.get_tracer_provider().get_tracer("framework")
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    with (
        tracer.start_as_current_span("execute_tool pay", attributes=attributes),
        r.effect("pay", {"n": 1}),
        r.effect("inner"),
    ):
        pass
    assert [span.name for span in sent.spans] == ["execute_tool inner", "execute_tool pay"]
    assert said(sent.spans[1], names.EFFECT_STATUS) == "executed"
