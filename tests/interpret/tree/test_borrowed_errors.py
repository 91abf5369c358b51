"""Errors that an instrumentation only repeats are not failures; those that another act met itself stay failures."""

from __future__ import annotations

from typing import Any

import pytest
from made_runs import RUN, act, agent, asks, chat, returned, rows, said, tool
from spans import read_run

from retrospan.ingest.interpret.spans.span import Event, Span

HI = said("user", "Hi")
LOCKED = "the record is locked"
STOP: dict[str, Any] = {"gen_ai__response__finish_reasons": ["stop"]}
CALLS = [asks("search", {"n": n}, f"c{n}") for n in range(1, 4)]


def repeats(span: Span, message: str = LOCKED) -> Span:
    """The same span, marked with an error of which it has no event."""
    span.status, span.status_message = "error", message
    return span


def failing(at: float, n: int = 1, message: str = LOCKED, **more: Any) -> Span:
    """A tool that fails, and says so in an event."""
    fails = repeats(tool(at, arguments={"n": n}, gen_ai__tool__call__id=f"c{n}", **more), message)
    event = Event(name="exception", time_ns=fails.started_at, attributes={"exception.message": message})
    fails.events = [event]
    return fails


def searched(at: float, n: int = 2, result: object = "found", **more: Any) -> Span:
    return tool(at, arguments={"n": n}, result=result, gen_ai__tool__call__id=f"c{n}", **more)


def asking(at: float, n: int = 1, **more: Any) -> Span:
    told = [
        message for m in range(1, n) for message in (said("assistant", CALLS[m - 1]), returned(f"c{m}", "?"))
    ]
    return chat(at, [HI, *told], CALLS[n - 1], gen_ai__response__finish_reasons=["tool_calls"], **more)


def answering(at: float, *, ended: bool = True) -> Span:
    told = [
        said("assistant", CALLS[0]),
        returned("c1", "?"),
        said("assistant", CALLS[1]),
        returned("c2", "found"),
    ]
    return chat(at, [HI, *told], "Done.", **(STOP if ended else {}))


def failed(*spans: Span) -> list[str]:
    """What failed: model calls, tool calls, the run."""
    found = rows(*spans)
    acts = [f"model {call.ordinal}" for call in found.model_calls if call.status == "error"]
    acts += [f"tool {call.ordinal}" for call in found.tool_calls if call.status == "error"]
    return acts + [f"run {run.outcome}" for run in found.runs if run.outcome != "ok"]


def test_all_that_comes_after_a_failure_repeats_it_and_did_not_fail() -> None:
    later = [repeats(asking(3, 2)), repeats(searched(5)), repeats(answering(7))]
    assert failed(repeats(agent()), asking(1), failing(2), *later) == ["tool 1"]


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        (
            [repeats(asking(3, 2)), failing(5, 2), repeats(answering(7))],
            ["tool 1", "tool 2"],
        ),
        (
            [asking(3, 2), repeats(searched(5)), repeats(answering(7))],
            ["model 3", "tool 1", "tool 2"],
        ),
        (
            [repeats(asking(3, 2)), repeats(searched(5, result=f"Error: {LOCKED}")), repeats(answering(7))],
            ["tool 1", "tool 2"],
        ),
        (
            [repeats(asking(3, 2)), repeats(searched(5, result=None)), repeats(answering(7))],
            ["tool 1", "tool 2"],
        ),
        (
            [repeats(asking(3, 2)), repeats(searched(5)), repeats(answering(7, ended=False))],
            ["model 3", "tool 1"],
        ),
        ([repeats(answering(7))], ["model 2", "tool 1"]),
        (
            [repeats(asking(3, 2)), repeats(searched(5)), repeats(answering(7), "Timeout")],
            ["model 2", "model 3", "tool 1", "tool 2"],
        ),
    ],
    ids=[
        "the next try failed too, and says so",
        "the instrumentation does not mark all",
        "the result is this error",
        "nothing came back",
        "the answer broke off",
        "one act alone",
        "another error as well",
    ],
)  # fmt: skip
def test_an_act_that_may_have_failed_itself_stays_failed(spans: list[Span], expected: list[str]) -> None:
    assert failed(agent(), asking(1), failing(2), *spans) == expected


def test_only_spans_of_the_same_instrumentation_repeat_an_error() -> None:
    other = [repeats(asking(3, 2)), repeats(searched(5)), repeats(answering(7))]
    for span in other:
        span.scope = "another"
    assert failed(agent(), asking(1), failing(2), *other) == [
        "model 2", "model 3", "tool 1", "tool 2",
    ]  # fmt: skip


def test_what_ended_before_the_failure_or_ran_beside_it_failed_itself() -> None:
    beside = repeats(searched(2, 3, takes=4))
    later = [repeats(asking(3, 2)), repeats(searched(5)), repeats(answering(7))]
    assert failed(agent(), asking(1), failing(2), beside, *later) == ["tool 1", "tool 2"]


def test_a_step_without_a_model_that_answered_failed_as_its_tool_did() -> None:
    def step(at: float, number: int) -> Span:
        return repeats(act("", at, takes=2.5, span_id=f"{number:016x}", name=f"step {number}"))

    first, second = step(1.5, 8), step(3.9, 9)
    later = [repeats(asking(4, 2, inside=second.span_id)), repeats(searched(6)), repeats(answering(8))]
    spans = [agent(), asking(1), first, failing(2, inside=first.span_id), second, *later]
    run = read_run(RUN, spans)
    assert [span.sent.name for span in run.tree.spans if span.failed] == ["step 8", "execute_tool"]


def test_what_is_around_an_agent_that_went_on_after_a_tool_had_failed_only_repeats_its_error() -> None:
    """The first error of a trace, at its root; the agent inside it was answered, and does not say that it failed."""

    def run(*answers: Span, failing_agent: str = "", root: str = LOCKED) -> list[str]:
        workflow = repeats(act("invoke_workflow", 0, takes=50, span_id=f"{2:016x}", parent_span_id=""), root)
        inner = agent(takes=40, error=failing_agent, parent_span_id=workflow.span_id)
        fails = repeats(tool(3, arguments={"n": 1}, gen_ai__tool__call__id="c1"))
        return failed(workflow, inner, asking(1), fails, *answers)

    assert run(answering(6)) == ["tool 1"]
    assert run(answering(6), root="no more credit") == ["tool 1", "run error"]
    assert run(answering(6), failing_agent="TimeoutError") == ["tool 1", "run error"]
    assert run(repeats(answering(6))) == ["model 2", "tool 1", "run error"]
    assert run(answering(2)) == ["tool 1", "run error"], "it was answered before"
    again = repeats(tool(8, arguments={"n": 2}, gen_ai__tool__call__id="c2"))
    assert run(answering(6), again) == ["tool 1", "tool 2", "run error"], "of the second nobody was told"


def test_a_span_that_only_tells_the_error_of_the_one_before_it_is_no_act() -> None:
    """As decorators make one that is called after the function that raised."""

    def run(name: str, at: float = 3.0, message: str = LOCKED, **more: Any) -> list[str]:
        asked = repeats(chat(1, [HI], name="chat"))
        return failed(agent(error="Locked"), asked, repeats(chat(at, name=name, **more), message))

    assert run("chat_error") == ["model 1", "run error"]
    # Another name or error, the same name, as of another try, one before the other ended, one that tells of a request.
    for other in (
        run("complete_error"),
        run("chat_error", message="no more credit"),
        run("chat"),
        run("chat_error", at=1.5),
        run("chat_error", gen_ai__request__model="m"),
    ):
        assert other == ["model 1", "model 2", "run error"]
