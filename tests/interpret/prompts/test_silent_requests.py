"""Requests that tell nothing, and a later one of their turn whose prompt retells them."""

from __future__ import annotations

import pytest
from made_runs import agent, asks, chat, returned, rows, said

from retrospan.ingest.interpret.spans.span import Span

ASKED = said("user", "How is Oslo?")
FIRST, SECOND = asks("weather", {"city": "Oslo"}, "c1"), asks("weather", {"city": "Bergen"}, "c2")
PROMPT = [
    ASKED,
    said("assistant", FIRST),
    returned("c1", "snow"),
    said("assistant", SECOND),
    returned("c2", "rain"),
]


def told(*spans: Span) -> tuple[str | None, list[str], list[str]]:
    found = rows(agent(), *spans)
    calls = [tool.tool_call_id or "" for tool in found.tool_calls]
    return found.runs[0].input, calls, [call.history for call in found.model_calls]


def test_the_prompt_of_a_refused_request_retells_those_before_it() -> None:
    refused = chat(5, PROMPT, error="TooLong")
    assert told(chat(1), chat(3), refused) == ("How is Oslo?", ["c1", "c2"], ["inferred", "inferred", "full"])
    found = rows(agent(), chat(1), chat(3), refused)
    assert [problem.field for problem in found.problems if "later request" in problem.reason] == ["input"]


@pytest.mark.parametrize(
    "before",
    [
        [chat(1)],  # one of the answers is another agent's, or of an earlier turn
        [chat(1), chat(2), chat(3)],
        [chat(1, takes=4), chat(3)],  # not one after the other
        [chat(1, error="Busy"), chat(3)],
        [chat(1, gen_ai__agent__name="milo"), chat(3)],
    ],
)
def test_other_requests_stay_silent(before: list[Span]) -> None:
    assert "inferred" not in told(*before, chat(6, PROMPT, error="TooLong"))[2]


def test_answers_before_the_last_words_of_a_person_are_of_another_turn() -> None:
    earlier = [
        said("user", "Hi"),
        said("assistant", "Hello."),
        ASKED,
        said("assistant", FIRST),
        returned("c1", "snow"),
    ]
    assert told(chat(1), chat(3, earlier, "Snow."))[2][0] == "inferred"
    assert told(chat(1), chat(2), chat(4, earlier, "Snow."))[2][:2] != ["inferred", "inferred"]
