"""What an agent's log records tell beside spans: what spans leave out, and all of an agent inside of another's span."""

from __future__ import annotations

import pytest
from spans import read_runs, spans_of_requests
from told_scenes import sent_beside

from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.otlp.prompt_traces import with_traces

ASKED = "Please run the little job plum-2207 and tell me what it says."
ANSWER = "The job says: done-9943."


def runs(scene: str) -> list[InterpretedRun]:
    return read_runs(spans_of_requests(*sent_beside(scene)))


def steps(run: InterpretedRun) -> str:
    return " ".join(step.kind if step.status == "ok" else f"{step.kind}:{step.status}" for step in run.steps)


def test_records_complete_the_spans_of_what_they_tell() -> None:
    [run] = runs("claude-code.traced")
    assert (run.outcome, steps(run), run.input, run.output) == ("ok", "model tool model", ASKED, ANSWER)
    [tool] = run.calls.tools
    # The spans have what the tool returned, the records what it was given.
    assert tool.arguments == {"command": "sleep 0.4; echo job-output-5521", "description": "run it"}
    assert tool.result == "job-output-5521"
    assert tool.asked is not None and tool.asked.by == 1, "the answer that asked for it"


def test_what_was_withheld_is_not_known() -> None:
    [run] = runs("claude-code.traced_withheld")
    assert (run.outcome, steps(run), run.input, run.output) == ("ok", "model tool:error model", None, None)


def test_an_agent_in_the_background_does_not_answer_for_the_one_that_started_it() -> None:
    first, second = runs("claude-code.traced_subagent")
    assert (steps(first), first.input, first.output) == (
        "model tool model model tool model",
        ASKED,
        ANSWER,
    )
    assert (steps(second), second.output) == ("model", ANSWER)


def test_an_agent_inside_of_another_program_tells_its_acts_by_records_alone() -> None:
    [run] = runs("claude-code.inside")
    assert (run.outcome, steps(run)) == ("ok", "model tool model")
    [top] = run.tree.roots()
    assert top.sent.name == "handle_job", "the span that was current when the agent was started"


@pytest.mark.parametrize("scene", ["claude-code.traced", "claude-code.inside"])
def test_without_the_spans_of_others_it_is_the_same_run(scene: str) -> None:
    _, records = sent_beside(scene)
    [run] = read_runs(spans_of_requests((), records))
    assert (run.outcome, steps(run)) == ("ok", "model tool model")


def test_a_hook_that_fails_does_not_fail_the_tool_that_says_it_went_well() -> None:
    [run] = runs("qwen-code.traced")
    assert (run.outcome, steps(run), run.output) == ("ok", "model tool model", ANSWER)
    [failed] = {span.sent.name for span in run.tree.spans if span.sent.status == "error"}
    assert failed == "qwen-code.hook"


def test_an_agent_with_spans_makes_no_second_run_of_a_record_without() -> None:
    spans, records = sent_beside("qwen-code.denied")
    assert len(read_runs(spans_of_requests(spans, [with_traces(body) for body in records]))) == 1
