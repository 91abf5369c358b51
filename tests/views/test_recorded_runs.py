"""The views over recorded agents: where the pair of runs parts, and where an answer came from."""

from __future__ import annotations

import pytest
from fix_recordings import load_recording, manifest
from sampling import one_in
from spans import rows_of_recording
from story import Ask

from retrospan.ingest.interpret.service.dispatch import write_rows
from retrospan.ingest.warehouse.embedded import EmbeddedStore

PAIRS = sorted(name.removesuffix("/diverge_a") for name in manifest() if name.endswith("/diverge_a"))


def _tell(store: EmbeddedStore, name: str) -> str:
    """Write the recording's first run; its id."""
    run = rows_of_recording(load_recording(name))[0]
    write_rows(store, run)
    return run.runs[0].run_id


@pytest.mark.parametrize("family", one_in(3, PAIRS))
def test_each_recorded_pair_parts_at_the_third_decision_by_sampling(
    views: EmbeddedStore, ask: Ask, family: str
) -> None:
    a, b = _tell(views, f"{family}/diverge_a"), _tell(views, f"{family}/diverge_b")
    (part,) = ask("SELECT * FROM run_divergence(a = {a:String}, b = {b:String})", a=a, b=b)
    assert (part["step_a"], part["step_b"], part["aspect"], part["cause"]) == (5, 5, "answer", "sampling")
    assert part["value_a"].startswith("update_record(") and part["value_b"].startswith("send_email(")


@pytest.mark.long
def test_a_pair_whose_history_tells_calls_as_text_parts_there_in_the_view_too(
    views: EmbeddedStore, ask_both: Ask
) -> None:
    a, b = _tell(views, "smolagents/diverge_a"), _tell(views, "smolagents/diverge_b")
    asked = "SELECT step_a, step_b, cause FROM run_divergence(a = {a:String}, b = {b:String})"
    assert ask_both(asked, a=a, b=b) == [{"step_a": 5, "step_b": 5, "cause": "sampling"}]


@pytest.mark.parametrize(
    "family",
    one_in(3, ["langgraph-openinference", "genai-openai.span_and_event", "openai-v2.span_and_event"]),
)
def test_the_answer_of_a_recorded_pair_leads_back_to_its_question(
    views: EmbeddedStore, ask: Ask, family: str
) -> None:
    a = _tell(views, f"{family}/diverge_a")
    assert ask("SELECT ordinal FROM model_calls WHERE run_id = {a:String} AND step = 5", a=a) == [
        {"ordinal": 3}
    ]
    chain = ask(
        "SELECT label FROM provenance(ref = {ref:String}, depth = 6, direction = 'up') ORDER BY depth",
        ref=f"run:{a}",
    )
    labels = [row["label"] for row in chain]
    assert labels[0] == "assistant: O-77 is held today because of snow in Oslo."
    assert "user: Should order O-77 to Oslo ship today? Decide and act." in labels
    assert 'get_weather({"city":"Oslo"})' in labels


@pytest.mark.parametrize("family", ["langgraph-openinference", "strands", "openai-v2.span_and_event"])
def test_an_error_and_the_try_after_it_are_tied_together(views: EmbeddedStore, ask: Ask, family: str) -> None:
    run_id = _tell(views, f"{family}/tool_error")
    found = ask(
        "SELECT f.step AS step, origin, class, error_message, handled, t.tool_name AS tool, t.status AS status, "
        "f.at = t.started_at + toIntervalNanosecond(round(t.duration_ms * 1e6)) AS at_its_end "
        "FROM failures AS f INNER JOIN tool_calls AS t ON t.run_id = f.run_id AND t.step = f.step "
        "WHERE f.run_id = {run_id:String}",
        run_id=run_id,
    )
    assert found == [
        {
            "step": 2,
            "origin": "tool_response",
            "class": "transient",
            "error_message": "record C-2077 is locked by another writer",
            "handled": True,
            "tool": "update_record",
            "status": "error",
            "at_its_end": 1,
        }
    ]
    tries = ask("SELECT step, tool_name, attempt, of_step, backoff_ms, status FROM retries ORDER BY step")
    assert tries == [
        {
            "step": step,
            "tool_name": "update_record",
            "attempt": attempt,
            "of_step": 2,
            "backoff_ms": None,
            "status": status,
        }
        for step, attempt, status in ((2, 1, "error"), (4, 2, "ok"))
    ]


def test_a_recorded_context_grows_and_loses_nothing(views: EmbeddedStore, ask: Ask) -> None:
    run_id = _tell(views, "langgraph-openinference/normal")
    rows = ask(
        "SELECT c.model_call AS call, c.goes_on AS goes_on, c.messages_in AS held, c.messages_new AS new, "
        "c.messages_lost AS lost, c.lost_how AS how, c.lost_messages AS hashes, m.input_tokens = c.input_tokens AS same, "
        "JSONLength(m.input_messages) AS listed "
        "FROM context_use AS c INNER JOIN model_calls AS m ON m.run_id = c.run_id AND m.ordinal = c.model_call "
        "WHERE c.run_id = {run_id:String} ORDER BY call",
        run_id=run_id,
    )
    assert len(rows) > 2
    held = 0
    for number, row in enumerate(rows, start=1):
        assert (row["call"], row["goes_on"]) == (number, number - 1 or None)
        assert (int(row["lost"]), row["how"], row["hashes"], row["same"]) == (0, None, [], 1)
        assert int(row["held"]) == int(row["listed"]) == held + int(row["new"])
        held = int(row["held"])
