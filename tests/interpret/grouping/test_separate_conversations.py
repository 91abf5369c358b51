"""Several conversations in one trace: none is the run's, and none gets over what failed in another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from made_runs import act, agent, chat, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

AROUND = {"span_id": f"{1:016x}", "parent_span_id": ""}
FIELDS = ["conversation_id", "input", "output"]


def batch(**more: Any) -> Span:
    return act("", 0, takes=100, name="batch", **AROUND, **more)


def asked(number: int, *, conversation: str = "", name: str = "orla", error: str = "") -> list[Span]:
    """One agent beside the others, who is asked something and answers."""
    own = {"gen_ai__agent__name": name}
    at, mark = number * 10 + 1, f"{number + 2:016x}"
    stated = {"gen_ai__conversation__id": conversation or f"conv-{number}"}
    one = act("invoke_agent", at, takes=5, span_id=mark, error=error, **own, **stated)
    return [one, chat(at + 1, [said("user", f"Q{number}?")], f"A{number}.", inside=mark, **own)]


def told(*spans: Span | Sequence[Span]) -> tuple[str | None, str | None, str | None, list[str]]:
    """Return conversation, input and output of the run, and the fields of its problems."""
    found = rows(*(span for each in spans for span in ([each] if isinstance(each, Span) else each)))
    run = found.runs[0]
    return run.conversation_id, run.input, run.output, [each.field for each in found.problems]


def test_a_run_of_several_conversations_has_none_and_says_why() -> None:
    assert told(batch(), asked(0), asked(1)) == (None, None, None, FIELDS)
    assert told(batch(), asked(0), asked(1, conversation="conv-0"))[:3] == ("conv-0", "Q0?", "A1.")
    found = rows(batch(), *asked(0), *asked(1))
    assert {each.raw for each in found.problems} == {"conv-0, conv-1"}
    assert (found.runs[0].outcome, found.runs[0].answer_ref) == ("ok", None)


def test_no_conversation_gets_over_what_failed_in_another() -> None:
    broken = tool(12.5, error="Locked", inside=f"{3:016x}")
    found = rows(batch(), *asked(0), *asked(1, error="Boom"), broken, *asked(2))
    assert found.runs[0].outcome == "error"
    assert [failure.handled for failure in found.failures] == [False]
    one = rows(
        batch(), *asked(0), *asked(1, conversation="conv-0", error="Boom"), *asked(2, conversation="conv-0")
    )
    assert one.runs[0].outcome == "ok"
    # Within its own conversation an agent goes on.
    again = asked(3, conversation="conv-1")
    both = rows(batch(), *asked(0), *asked(1), broken, *again, *asked(4, error="Boom"))
    assert [failure.handled for failure in both.failures] == [True, False]


@pytest.mark.parametrize(
    "around",
    [
        agent(),
        act("invoke_workflow", 0, takes=100, **AROUND),
        batch(gen_ai__conversation__id="conv-9"),
        batch(retrospan__step__index=1),
    ],
    ids=["an agent", "a workflow", "a conversation", "a step"],
)
def test_agents_in_conversations_of_their_own_inside_something_are_one_run(around: Span) -> None:
    assert told(around, asked(0), asked(1))[2] == "A1."


def test_agents_that_may_work_for_one_another_are_one_run() -> None:
    assert told(batch(), asked(0), asked(1, name="pim"))[2] == "A1."
    assert (
        told(
            batch(),
            asked(0),
            asked(1),
            chat(50, [said("user", "All?")], "All.", gen_ai__conversation__id="conv-9"),
        )[2]
        == "All."
    )
    unnamed = asked(2)
    del unnamed[0].attributes["gen_ai.conversation.id"]  # type: ignore[attr-defined]
    assert told(batch(), asked(0), asked(1), unnamed)[2] == "A2."


def test_traces_that_something_else_made_one_run_are_not_told_apart() -> None:
    first, second = asked(0), asked(1)
    for span in second:
        span.trace_id, span.parent_trace_id = "cd" * 16, "ab" * 16
    second[1].parent_trace_id = ""
    assert told(batch(), first, second)[2] == "A1."


def test_a_conversation_that_goes_on_under_another_name_is_one() -> None:
    first, second = asked(0), asked(1)
    given = [said("user", "Q0?"), said("assistant", "A0."), said("user", "Q1?")]
    second[1] = chat(12, given, "A1.", inside=f"{3:016x}")
    assert told(batch(), first, second)[2] == "A1."
    second[1] = chat(12, [said("user", "A0.")], "A1.", inside=f"{3:016x}")
    assert told(batch(), first, second)[2] == "A1."
    earlier = {"gen_ai__request__previous_response__id": "r1"}
    second[1] = chat(12, [said("user", "Q1?")], "A1.", inside=f"{3:016x}", **earlier)
    assert told(batch(), first, second)[2] == "A1."
