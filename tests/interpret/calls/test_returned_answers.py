"""What an agent came to whose last request asks for the tool that ends it: its final result, and what that tool said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Hi")
RESULT = '{"days":30}'
ASKING = asks("final_result", {"days": 30}, "c1")
DONE = "Final result processed."
KEPT = [HI, said("assistant", ASKING), returned("c1", DONE)]


def ended(root: Span, *more: Span) -> tuple[str | None, str, str | None, list[str]]:
    """Return the output of a run, status and result of its one call, and the fields of its problems."""
    found = rows(root, chat(1, [HI], ASKING), *more)
    call = found.tool_calls[0]
    return found.runs[0].output, call.status, call.result, [each.field for each in found.problems]


@pytest.mark.parametrize("name", ["final_result", "x__final_output", "x__final_answer", "x.final_response"])
def test_the_final_result_of_a_root_is_what_it_returned(name: str) -> None:
    def root(result: str) -> Span:
        more: dict[str, Any] = {name: result}
        return agent(**more)

    assert ended(root(RESULT)) == (RESULT, "unknown", None, [])
    assert ended(root("Thirty days."))[0] == "Thirty days."


@pytest.mark.parametrize(
    "more",
    [
        {"final_result_type": RESULT},
        {"semifinal_result": RESULT},
        {"final_result": ""},
        {"final_result": 30},
        {"final_result": RESULT, "error": "Boom"},
        {"final_result": json.dumps({"calls": [{"tool_call_id": "c1"}]})},
        {"output__value": "State(messages=[Call('c1')], last='Thirty days.')"},
    ],
    ids=str,
)
def test_what_is_no_final_result_is_not_the_output(more: dict[str, Any]) -> None:
    assert ended(agent(**more))[0] is None


def test_a_text_with_a_number_that_is_also_the_id_of_a_call_is_an_answer() -> None:
    asking = chat(1, [HI], asks("final_result", {"days": 30}, "30"))
    assert rows(agent(final_result=RESULT), asking).runs[0].output == RESULT


def test_the_final_result_of_a_part_is_not_that_of_the_run() -> None:
    assert ended(agent(), act("", 3, final_result=RESULT))[0] is None
    assert ended(agent(final_result=RESULT), chat(5, [HI], "Thirty days."))[0] == "Thirty days."


def test_what_an_agent_keeps_of_all_that_was_said_tells_what_its_tools_returned() -> None:
    kept = agent(final_result=RESULT, x__all_messages=json.dumps(KEPT))
    assert ended(kept) == (RESULT, "ok", DONE, [])
    inside = act("invoke_agent", 0.5, takes=50, x__all_messages=json.dumps(KEPT))
    assert ended(agent(), inside)[1:3] == ("ok", DONE)


@pytest.mark.parametrize(
    "kept",
    [
        [HI, said("assistant", ASKING)],
        [HI, returned("c1", DONE)],
        [HI, said("assistant", {**ASKING, "id": "c2"}), returned("c2", DONE)],
        [*KEPT, returned("c1", "Something else.")],
    ],
    ids=["not told", "not asked there", "another call", "told in two ways"],
)
def test_what_no_transcript_tells_of_a_call_stays_unknown(kept: list[dict[str, object]]) -> None:
    assert ended(agent(x__all_messages=json.dumps(kept)))[1:3] == ("unknown", None)
    assert ended(agent(), act("", 3, x__all_messages=json.dumps(KEPT)))[1:3] == ("unknown", None)
