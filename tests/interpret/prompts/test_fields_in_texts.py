"""DSPy's agent by its requests alone: prompts and answers are fields of texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from interpret.grouping import test_turns as turns
from interpret.grouping.test_turns import runs
from made_runs import asks, said
from spans import read_runs

from retrospan.ingest.interpret.prompts.fields_in_texts import fields_of
from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.interpret.spans.span import Span

SNOW = '{"city": "Oslo", "temp_c": -3}'
TRIED = "Execution error in weather: no such city"


FORM = said("system", "Answer so:\n\n[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]")


def request(trace: str, at: float, given: Sequence[object], *answer: Any, **more: Any) -> Span:
    """Return a request whose instructions tell the form of the answer."""
    return turns.request(trace, at, [FORM, *given], *answer, **more)


def fields(**said: str) -> str:
    return "\n\n".join(f"[[ ## {name} ## ]]\n{text}" for name, text in said.items())


def prompt(*returned: str, question: str = "Rain?", wants: str = "next_thought") -> dict[str, object]:
    """Return a prompt after some calls of `weather`, the last of which is `finish` where the answer is wanted."""
    told: dict[str, str] = {"question": question, "trajectory": ""}
    for number, result in enumerate(returned):
        tool, arguments = ("finish", "{}") if result == "Completed." else ("weather", f'{{"day": {number}}}')
        told |= {
            f"thought_{number}": "I look.",
            f"tool_name_{number}": tool,
            f"tool_args_{number}": arguments,
            f"observation_{number}": result,
        }
    order = f"Respond with the corresponding output fields, starting with the field `[[ ## {wants} ## ]]`."
    return said("user", f"{fields(**told)}\n\n{order}")


def wants(number: int, tool: str = "weather") -> str:
    arguments = "{}" if tool == "finish" else f'{{"day": {number}}}'
    return fields(next_thought="I look.", next_tool_name=tool, next_tool_args=arguments, completed="")


def turn(*returned: str, traces: str = "abcdef", at: float = 0, **more: str) -> list[Span]:
    """Return the requests of a turn, each with a trace of its own: one for each call, and one for the answer."""
    spans = [
        request(trace, at + 2 * number, [prompt(*returned[:number], **more)], wants(number))
        for number, trace in zip(range(len(returned)), traces, strict=False)
    ]
    done = [*returned, "Completed."]
    number = len(returned)
    spans.append(
        request(traces[number], at + 2 * number, [prompt(*returned, **more)], wants(number, "finish"))
    )
    answer = fields(reasoning="It says so.", answer="Take one.", completed="")
    last = prompt(*done, wants="reasoning", **more)
    spans.append(request(traces[number + 1], at + 2 * number + 2, [last], answer))
    return spans


def tools(run: InterpretedRun) -> list[tuple[Any, ...]]:
    return [(tool.name, tool.arguments, tool.result, tool.status) for tool in run.calls.tools]


def test_the_requests_of_a_turn_are_one_run_with_its_tools_in_whatever_order_they_come() -> None:
    spans = turn(SNOW, TRIED)
    for order in permutations(spans):
        assert runs(*order) == [("a", ["a", "b", "c", "d"])]
    (run,) = read_runs(spans)
    assert (run.input, run.output, run.outcome) == ("Rain?", "Take one.", "ok")
    assert tools(run) == [
        ("weather", {"day": 0}, {"city": "Oslo", "temp_c": -3}, "ok"),
        ("weather", {"day": 1}, None, "error"),
    ]
    assert run.problems == []


def test_what_was_said_stays_as_it_was_said() -> None:
    (run,) = read_runs(turn(SNOW))
    texts = [part.get("content") for call in run.calls.models for part in call.span.output[0]["parts"]]
    assert texts[0] == wants(0) and len(texts) == 3


def test_another_question_another_argument_or_another_service_is_another_turn() -> None:
    assert len(runs(*turn(SNOW), *turn(SNOW, traces="def", at=50, question="Snow?"))) == 2
    first, second, last = turn(SNOW)
    assert runs(first, last) == [("a", ["a"]), ("c", ["c"])]  # what is between never came
    changed = request("d", 2, [prompt("sun")], wants(1))
    assert runs(first, changed) == [("a", ["a", "d"])]  # another result of the same call
    second.resource = {"service.name": "mail"}
    assert runs(first, second, last) == [("a", ["a"]), ("b", ["b"]), ("c", ["c"])]


def test_a_call_of_which_nothing_came_is_one_whose_fate_is_unknown() -> None:
    (run,) = read_runs([request("a", 0, [prompt()], wants(0))])
    assert (run.output, tools(run)) == (None, [("weather", {"day": 0}, None, "unknown")])
    (run,) = read_runs(turn(SNOW, TRIED)[:2])
    assert [status for *_, status in tools(run)] == ["ok", "unknown"]
    (run,) = read_runs(turn(SNOW)[:2])  # it ends with `finish`, which is not a tool of anybody's
    assert len(tools(run)) == 1 and run.problems == []


def test_a_run_that_tells_its_calls_otherwise_is_not_read_for_fields() -> None:
    call = asks("weather", {"day": 0}, "c1")
    (run,) = read_runs([request("a", 0, [prompt()], wants(0), call)])
    assert [tool.call_id for tool in run.calls.tools] == ["c1"]


def test_a_list_is_told_member_by_member() -> None:
    (run,) = read_runs(turn("[1] «{'id': 'kb-17', 'text': 'a\\nb'}»\n[2] «{plain»"))
    assert run.calls.tools[0].result == [{"id": "kb-17", "text": "a\nb"}, "{plain"]
    (run,) = read_runs(turn("[1] «a»\n[3] «b»"))
    assert run.calls.tools[0].result == "[1] «a»\n[3] «b»"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Take one.", {}),
        ("It says [[ ## answer ## ]]", {}),
        ("[[ ## answer ## ]]\nTake one.", {"answer": "Take one."}),
        ("[[ ## answer ## ]]\nA\n\n[[ ## answer ## ]]\nB", {"answer": "B"}),
        ("[[ ## a b ## ]]\nx", {}),
    ],
)
def test_fields_begin_with_their_names(text: str, found: dict[str, str]) -> None:
    assert fields_of(text) == found


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("[[ ## reasoning ## ]]\n1\n\n[[ ## b ## ]]\n2\n\n[[ ## completed ## ]]", "2"),
        ("[[ ## a ## ]]\n1\n\n[[ ## b ## ]]\n2", "[[ ## a ## ]]\n1\n\n[[ ## b ## ]]\n2"),
        ("plain", "plain"),
    ],
)
def test_of_several_fields_none_is_the_answer(answer: str, told: str) -> None:
    (run,) = read_runs([request("a", 0, [prompt()], answer)])
    assert run.output == told


def test_without_instructions_for_fields_they_are_what_somebody_pasted() -> None:
    pasted = prompt(SNOW)
    text = pasted["parts"][0]["content"]  # type: ignore[index]
    (run,) = read_runs([turns.request("a", 0, [pasted], wants(1))])
    assert (run.input, run.output, tools(run)) == (text, wants(1), [])


def test_what_people_paste_is_what_they_say() -> None:
    pasted = "Why does it print\n[[ ## next_tool_name ## ]]\nweather?"
    (run,) = read_runs([request("a", 0, [said("user", pasted)], "It asks for a tool.")])
    assert (run.input, run.output, tools(run)) == (pasted, "It asks for a tool.", [])
