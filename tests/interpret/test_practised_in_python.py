"""Forms that more recordings for practice showed, of instrumentations for Python: each is read whole, and what is nearly the
same is not taken for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from made_spans import make_span
from recordings.record.pure_views import views_of_spans
from spans import read_runs
from weather_question import (
    ANSWER,
    ASKED,
    CALLED,
    GIVEN,
    QUESTION,
    SAID,
    TOLD,
    model_span,
    require_whole,
    tool_span,
)
from weather_runs import RESULT, USED, counted, first, last, messages, ran, run_of

from retrospan.ingest.interpret.spans.span import Event, Span


def parts_as_a_result() -> list[Span]:
    part = [{"type": "text", "content": RESULT}]
    return run_of(first(), ran(x__input=json.dumps(GIVEN), x__output=json.dumps(part)), last())


def an_execution_in_three_spans(**named: object) -> list[Span]:
    """What calls the tool, what sends the call on, named after its code, and what runs it, without an id."""
    known = replace(tool_span(), attributes={**tool_span().attributes, "gen_ai.tool.call.id": "c1"})
    root, asked, outer, answer = run_of(first(), known, last())
    said = {"x.span.kind": "tool", "gen_ai.tool.call.id": "c1", **named}
    middle = make_span(said, "Agent.orla.call_tool", parent_span_id=outer.span_id)
    inner = make_span({"gen_ai.tool.name": "get_weather"}, "run", parent_span_id=middle.span_id)
    at = outer.started_at
    return [
        root,
        asked,
        outer,
        replace(middle, started_at=at + 1, ended_at=at + 9),
        replace(inner, started_at=at + 2, ended_at=at + 8),
        answer,
    ]


def leaves(prefix: str, value: object) -> dict[str, object]:
    """Return an object as one attribute per leaf."""
    if not isinstance(value, (dict, list)):
        return {prefix: value} if value is not None else {}
    inner = value.items() if isinstance(value, dict) else [(str(n), item) for n, item in enumerate(value)]
    return {name: leaf for key, item in inner for name, leaf in leaves(f"{prefix}.{key}", item).items()}


def asked_in_event(asked: object, at: int) -> Event:
    told = {"turn": at, "model": "m-1", **leaves("messages", asked)}
    return Event(name="gen_ai.user.message", time_ns=at, attributes=told)


def answered_in_event(answer: object, used: tuple[int, int], at: int) -> Event:
    told = {"turn": at, "model": "m-1-2025-01-01", **leaves("choices", [{"message": answer}])}
    return Event(name="gen_ai.assistant.message", time_ns=at, attributes={**told, **counted(used)})


def a_loop_in_events() -> list[Span]:
    """Each prompt and each answer in an event of the span around all of them."""
    root, _, tool, _ = run_of(first(), tool_span(), last())
    at = root.started_at
    events = [
        asked_in_event(ASKED, at + 2),
        answered_in_event(CALLED, USED[0], at + 3),
        asked_in_event(TOLD, tool.ended_at + 1),
        answered_in_event(SAID, USED[1], tool.ended_at + 2),
    ]
    told = {"gen_ai.request.model": "m-1", "gen_ai.usage.input_tokens": 30}
    loop = make_span(told, "LLM.generate", parent_span_id=root.span_id, events=events)
    loop = replace(loop, started_at=at + 1, ended_at=root.ended_at)
    return [root, loop, replace(tool, parent_span_id=loop.span_id)]


FORMS: list[Callable[[], list[Span]]] = [parts_as_a_result, an_execution_in_three_spans, a_loop_in_events]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_what_was_said_comes_back(form: Callable[[], list[Span]]) -> None:
    require_whole(form())


@pytest.mark.parametrize(
    "told",
    [
        [{"type": "text", "content": "Oslo", "id": "d-1"}],
        [{"type": "html", "content": "Oslo"}],
        [{"content": "Oslo"}],
    ],
)
def test_documents_are_no_text(told: list[object]) -> None:
    tool = ran(x__input=json.dumps(GIVEN), x__output=json.dumps(told))
    (call,) = views_of_spans(run_of(first(), tool)).tool_calls
    assert json.loads(call["result"]) == told


@pytest.mark.parametrize(
    "named",
    [{"gen_ai.tool.call.id": "c2"}, {"x.input": json.dumps({"city": "Bergen"})}, {"tool.name": "log"}],
)
def test_what_a_tool_runs_itself_is_another_execution(named: dict[str, object]) -> None:
    spans = an_execution_in_three_spans(**named)
    assert len(views_of_spans([*spans[:4], spans[5]]).tool_calls) == 2


def test_a_text_before_an_object_of_the_same_call_may_be_an_error() -> None:
    """Of a tool that says nothing of how it went: the model asked for just that again, and was given an object."""
    lost = ran(x__input=json.dumps(GIVEN), x__output="the station is locked")
    lost = replace(lost, attributes={**lost.attributes, "gen_ai.tool.call.id": "c0"})
    asked_again = json.loads(json.dumps(CALLED).replace('"c1"', '"c0"'))
    told = [*ASKED, asked_again, {"role": "tool", "tool_call_id": "c0", "content": "the station is locked"}]
    spans = run_of(
        messages(ASKED, [asked_again], USED[0]),
        lost,
        messages(told, [CALLED], USED[1]),
        tool_span(),
        messages([*told, *TOLD[len(ASKED) :]], [SAID], USED[1]),
    )
    (run,) = read_runs(spans)
    assert [problem.reason for problem in run.problems if "may be an error" in problem.reason]


def test_events_beside_requests_with_spans_are_no_requests() -> None:
    root, loop, tool = a_loop_in_events()
    inner = replace(first(), parent_span_id=loop.span_id, started_at=loop.started_at + 1)
    assert len(views_of_spans([root, loop, inner, tool]).model_calls) == 1


def agent(**told: object) -> Span:
    said = {name.replace("__", "."): value for name, value in told.items()}
    return make_span({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "orla", **said}, "orla")


def around(outer: Span, *acts: Span) -> list[Span]:
    root, *inner = run_of(*acts)
    return [replace(root, attributes=outer.attributes), *inner]


def text(role: str, content: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": content}]}])


def written(answer: str) -> Span:
    """Return a request whose model writes the fields of an answer."""
    asked = [ASKED[0], {"role": "user", "content": f"[[ question ]]\n{QUESTION}"}]
    return messages(asked, [{"role": "assistant", "content": answer}], USED[0])


def test_the_lines_that_an_agent_returned_are_the_answer() -> None:
    given = text("user", f"{{'question': {QUESTION!r}, 'history': History(messages=[])}}")
    outer = agent(gen_ai__input__messages=given, gen_ai__output__messages=text("assistant", ANSWER))
    (run,) = views_of_spans(
        around(outer, written(f"[[ thought ]]\nHm.\n\n[[ answer ]]\n{ANSWER}\n[[ end ]]"))
    ).runs
    assert (run["input"], run["output"]) == (QUESTION, ANSWER)


@pytest.mark.parametrize("said", [f"{ANSWER} And more.", f"Hm. {ANSWER}", f"{ANSWER}\nAnd more."])
def test_what_was_cut_is_not_the_answer(said: str) -> None:
    outer = agent(gen_ai__output__messages=text("assistant", ANSWER))
    (run,) = views_of_spans(around(outer, written(said))).runs
    assert run["output"] == said


def test_a_printed_dictionary_that_the_user_wrote_is_what_they_asked() -> None:
    pasted = "{'question': 'Weather?', 'city': 'Oslo'}"
    asked = [ASKED[0], {"role": "user", "content": pasted}]
    outer = agent(gen_ai__input__messages=text("user", pasted))
    (run,) = views_of_spans(around(outer, messages(asked, [SAID], USED[0]))).runs
    assert run["input"] == pasted


def test_the_answer_of_an_agent_that_names_its_model_is_that_of_the_model() -> None:
    given, returned = text("user", QUESTION), text("assistant", ANSWER)
    told = {"gen_ai__input__messages": given, "gen_ai__output__messages": returned}
    spans = [agent(gen_ai__request__model="m-1", **told)]
    (run,) = views_of_spans(spans).runs
    assert (run["input"], run["output"]) == (QUESTION, ANSWER)
    (read,) = read_runs(spans)
    assert [problem.field for problem in read.problems] == ["model_calls"]
    assert not views_of_spans([agent(**told)]).model_calls


def test_what_a_program_enters_by_is_around_the_agent() -> None:
    entry = make_span({"gen_ai.span.kind": "ENTRY", "gen_ai.input.messages": text("user", "{}")}, "enter")
    asked = text("user", f"Task: {QUESTION}\nExpected output: A sentence.")
    hoped = {"crew.task.description": QUESTION, "crew.task.expected_output": "A sentence."}
    inner = replace(agent(gen_ai__input__messages=asked, **hoped), parent_span_id=entry.span_id)
    request = replace(last(), parent_span_id=inner.span_id)
    begun = entry.started_at
    spans = [
        replace(entry, ended_at=begun + 9, span_id="e" * 16),
        replace(inner, span_id="d" * 16, parent_span_id="e" * 16, started_at=begun + 1, ended_at=begun + 8),
        replace(request, parent_span_id="d" * 16, started_at=begun + 2, ended_at=begun + 7),
    ]
    views = views_of_spans(spans)
    assert [run["input"] for run in views.runs] == [QUESTION]
    assert len(views.model_calls) == 1


def test_a_result_of_which_only_the_id_was_sent_was_told() -> None:
    """A program that sends no contents still says which call a message answers."""

    def prompt(asked: list[dict[str, object]]) -> dict[str, object]:
        return {
            f"gen_ai.prompt.{n}.{key}": said for n, told in enumerate(asked) for key, said in told.items()
        }

    asked: list[dict[str, object]] = [{"role": "system"}, {"role": "user"}]
    call = {"id": "c1", "function.name": "get_weather"}
    called: dict[str, object] = {"role": "assistant", **{f"tool_calls.0.{k}": v for k, v in call.items()}}
    answer = {f"gen_ai.completion.0.{key}": said for key, said in called.items()}
    told: list[dict[str, object]] = [*asked, called, {"role": "tool", "tool_call_id": "c1"}]
    one = model_span(counted(USED[0]) | prompt(asked) | answer)
    (tool,) = views_of_spans(run_of(one, model_span(counted(USED[1]) | prompt(told)))).tool_calls
    assert tool["status"] == "unknown"
    (tool,) = views_of_spans(run_of(one, model_span(counted(USED[1]) | prompt(told[:3])))).tool_calls
    assert tool["status"] == "not_executed"


@pytest.mark.parametrize(("call_id", "is_read"), [("c1", True), ("c2", False)])
def test_calls_printed_after_a_text_are_those_that_the_step_around_it_returned(
    call_id: str, is_read: bool
) -> None:
    call = {"name": "get_weather", "args": GIVEN, "id": call_id, "type": "tool_call"}
    said = f"I look.\n\nTool calls: {[call]!r}"
    request = messages(ASKED, [{"role": "assistant", "content": said}], USED[0])
    whole = {"content": "I look.", "type": "ai", "tool_calls": [{**call, "id": "c1"}]}
    step = make_span({"x.span.kind": "CHAIN", "output.value": json.dumps(whole)}, "sequence")
    root, step, answer = run_of(step, last())
    inner = replace(request, parent_span_id=step.span_id, started_at=step.started_at, ended_at=step.ended_at)
    output = json.loads(views_of_spans([root, step, inner, answer]).model_calls[0]["output_messages"])
    assert ("tool_call" in [part["type"] for part in output[0]["parts"]]) is is_read
    assert (said in json.dumps(output[0], ensure_ascii=False).replace("\\n", "\n")) is not is_read
