"""Forms that recordings for practice showed: each is read whole, and what is nearly the same is not taken for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from made_spans import make_span
from recordings.record.pure_views import views_of_spans
from weather_question import (
    ANSWER,
    ASKED,
    CALL,
    CALLED,
    GIVEN,
    QUESTION,
    RETURNED,
    SAID,
    SYSTEM,
    TOLD,
    in_traces,
    model_span,
    require_whole,
    tool_span,
)
from weather_runs import RESULT, USED, counted, first, last, messages, ran, run_of

from retrospan.ingest.interpret.normalize.same_tool import holds_arguments
from retrospan.ingest.interpret.spans.span import Event, Span

PRINTED = f"content='{RESULT}' name='get_weather' tool_call_id='c1'"


def quoted_arguments() -> list[Span]:
    return run_of(first(), ran(x__input=json.dumps(json.dumps(GIVEN)), x__output=RESULT), last())


def leaf_by_leaf() -> list[Span]:
    given = {f"x.data.inputs.{name}": value for name, value in GIVEN.items()}
    returned = {f"x.data.outputs.{name}": value for name, value in RETURNED.items()}
    return run_of(first(), make_span({"x.span.kind": "tool", **given, **returned}, "get_weather"), last())


def a_leaf_that_is_json() -> list[Span]:
    given = {f"x.data.inputs.{name}": value for name, value in GIVEN.items()}
    returned = {"x.data.outputs.__default__": f"@x.type=json:{RESULT}"}
    return run_of(first(), make_span({"x.span.kind": "tool", **given, **returned}, "get_weather"), last())


def a_printed_message_in_an_object() -> list[Span]:
    return run_of(first(), ran(x__input=json.dumps(GIVEN), x__output=json.dumps({"output": PRINTED})), last())


def a_printed_message_in_quotes() -> list[Span]:
    return run_of(first(), ran(x__input=json.dumps(GIVEN), x__output=json.dumps(PRINTED)), last())


def a_printed_outcome() -> list[Span]:
    outcome = f"status='success' result={RETURNED!r} error=None updated_state=None images=None"
    return run_of(first(), ran(x__input=json.dumps(GIVEN), x__output=outcome), last())


def arguments_in_messages() -> list[Span]:
    """Of answers nothing is told, and of prompts no call; what ran is inside the request that asked for it."""
    asked = messages(ASKED, [], USED[0], gen_ai__response__finish_reasons=["tool_calls"])
    del asked.attributes["gen_ai.output.messages"]  # type: ignore[attr-defined]
    inner = make_span(
        {
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.input.messages": json.dumps([{"role": "tool", "content": json.dumps(GIVEN)}]),
            "gen_ai.output.messages": json.dumps([{"role": "tool", "content": RESULT}]),
        },
        "execute_tool get_weather",
    )
    told = [*ASKED, {"role": "tool", "content": RESULT}]
    root, request, answer = run_of(asked, messages(told, [SAID], USED[1]))
    at = request.started_at + 1
    inner = replace(inner, parent_span_id=request.span_id, started_at=at, ended_at=at + 1)
    return [root, request, inner, answer]


def only_the_class_of_a_call() -> list[Span]:
    lost = {"role": "assistant", "parts": ["ToolCall"], "finish_reason": "tool_calls"}
    asked = messages(ASKED, [lost], USED[0], gen_ai__response__finish_reasons=["tool_calls"])
    told = [*ASKED, {"role": "tool", "parts": ["ToolCallResponse"]}]
    tool = ran(x__input=json.dumps(GIVEN), x__output=json.dumps(PRINTED))
    return run_of(asked, tool, messages(told, [SAID], USED[1]))


def calls_as_the_text_of_answers() -> list[Span]:
    function = json.dumps({"name": "get_weather", "arguments": json.dumps(GIVEN)})
    called = {"role": "assistant", "content": function, "tool_call_id": "c1"}
    return run_of(
        messages(ASKED, [called], USED[0]),
        tool_span(),
        messages([*ASKED, called, TOLD[-1]], [SAID], USED[1]),
    )


def blocks_as_the_text_of_answers() -> list[Span]:
    block = json.dumps({"id": "c1", "type": "tool_use", "name": "get_weather", "input": GIVEN})
    called = {"role": "assistant", "content": json.dumps(block)}
    return run_of(
        messages(ASKED, [called], USED[0]),
        tool_span(),
        messages([*ASKED, called, TOLD[-1]], [SAID], USED[1]),
    )


def acts_that_say_no_kind() -> list[Span]:
    call = {"tool_function": "get_weather", "tool_arguments": json.dumps(GIVEN), "call_id": "c1"}
    told = [*ASKED, call, {"call_id": "c1", "output": RESULT}]
    return run_of(messages(ASKED, [call], USED[0]), tool_span(), messages(told, [SAID], USED[1]))


def items_with_a_role() -> list[Span]:
    item = {"type": "function_call", "call_id": "c1", "id": "fc_1", "name": "get_weather"}
    item |= {"arguments": json.dumps(GIVEN), "role": "assistant"}
    output = {"type": "function_call_output", "call_id": "c1", "output": RESULT}
    told = [*ASKED, item, output]
    return run_of(messages(ASKED, [item], USED[0]), tool_span(), messages(told, [SAID], USED[1]))


def calls_in_a_list_of_tools() -> list[Span]:
    calls = [{"tool_id": "c1", "tool_name": "get_weather", "tool_arguments": json.dumps(GIVEN)}]
    answer = {"x.response": json.dumps({"tools": calls})}
    asked = model_span(counted(USED[0]) | {"x.request": json.dumps({"messages": ASKED}), **answer})
    return run_of(asked, tool_span(), last())


def an_answer_whose_calls_the_response_has() -> list[Span]:
    def call(asked: list[dict[str, Any]], answer: dict[str, Any], used: tuple[int, int]) -> Span:
        told = {
            f"x.in.{n}.message.{key}": said for n, m in enumerate(asked) for key, said in m.items() if said
        }
        calls = told.pop("x.in.2.message.tool_calls", None)
        if calls:
            told |= {
                "x.in.2.message.tool_calls.0.tool_call.id": "c1",
                "x.in.2.message.tool_calls.0.tool_call.function.name": "get_weather",
                "x.in.2.message.tool_calls.0.tool_call.function.arguments": json.dumps(GIVEN),
            }
        said = {"x.out.0.message.role": "assistant"}
        said |= {"x.out.0.message.content": answer["content"]} if answer["content"] else {}
        response = {"choices": [{"message": answer, "finish_reason": "stop"}]}
        return model_span(counted(used) | told | said | {"output.value": json.dumps(response)})

    return run_of(call(ASKED, CALLED, USED[0]), tool_span(), call(TOLD, SAID, USED[1]))


def told_by_two_instrumentations() -> list[Span]:
    """The client's own span lies in that of the framework, beside it in the tree, and tells the prompt alone."""
    spans = run_of(first(), tool_span(), last())
    doubles: list[Span] = []
    for span in (spans[1], spans[3]):
        told = {name: said for name, said in span.attributes.items() if "output" not in name}
        del told["gen_ai.usage.input_tokens"]
        inner = make_span(told, "client", scope="a.client", parent_span_id=span.parent_span_id)
        doubles.append(replace(inner, started_at=span.started_at + 1, ended_at=span.ended_at - 1))
    return [spans[0], spans[1], doubles[0], spans[2], spans[3], doubles[1]]


def the_id_beside_an_answer() -> list[Span]:
    item = {**CALLED, "tool_calls": [{**CALL, "id": "fc_1"}]}
    named = {"gen_ai__tool__call__id": "c1", "gen_ai__tool__name": "get_weather"}
    return run_of(messages(ASKED, [item], USED[0], **named), tool_span(), last())


def what_set_the_model_up() -> list[Span]:
    made = make_span({"gen_ai.request.model": "m-1", "x.inputs": "[]", "x.outputs": "null"}, "Model.init")
    return [*run_of(made, first(), tool_span(), last())]


def traces_with_a_bare_span_around() -> list[Span]:
    """Each request has a trace of its own, and in it a span around it that says nothing of what was said."""
    calls = [replace(call, status="ok") for call in (first(), last())]
    around = [make_span({"gen_ai.operation.name": "chat"}, "generator") for _ in calls]
    spans: list[Span] = []
    for number, (outer, call) in enumerate(zip(around, calls, strict=True), 1):
        at = number * 10**10
        trace = f"{number:032x}"
        spans.append(replace(outer, trace_id=trace, started_at=at, ended_at=at + 10**9))
        inner = replace(call, trace_id=trace, parent_span_id=outer.span_id)
        spans.append(replace(inner, started_at=at + 1, ended_at=at + 10**9 - 1))
    return spans


def field_by_field_in_events() -> list[Span]:
    """The prompt in an event of the beginning, the answer in one of the end: there each field is an attribute."""

    def call(asked: list[dict[str, Any]], answer: dict[str, Any], used: tuple[int, int]) -> Span:
        said = {"x.message.role": "assistant"}
        said |= {"x.message.content": answer["content"]} if answer["content"] else {}
        said |= {"x.message.tool_calls": json.dumps(answer["tool_calls"])} if "tool_calls" in answer else {}
        counts = {"x.raw.usage.prompt_tokens": used[0], "x.raw.usage.completion_tokens": used[1]}
        told = Event(
            name="Began",
            time_ns=1,
            attributes={"messages": json.dumps(asked), "model_dict.model_name": "m-1"},
        )
        return make_span(
            {}, "Client.chat", events=[told, Event(name="Ended", time_ns=2, attributes={**said, **counts})]
        )

    return run_of(call(ASKED, CALLED, USED[0]), tool_span(), call(TOLD, SAID, USED[1]))


FORMS: list[Callable[[], list[Span]]] = [
    quoted_arguments,
    leaf_by_leaf,
    a_leaf_that_is_json,
    a_printed_message_in_an_object,
    a_printed_message_in_quotes,
    a_printed_outcome,
    arguments_in_messages,
    only_the_class_of_a_call,
    calls_as_the_text_of_answers,
    blocks_as_the_text_of_answers,
    acts_that_say_no_kind,
    items_with_a_role,
    calls_in_a_list_of_tools,
    an_answer_whose_calls_the_response_has,
    told_by_two_instrumentations,
    the_id_beside_an_answer,
    what_set_the_model_up,
    traces_with_a_bare_span_around,
    field_by_field_in_events,
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_what_was_said_comes_back(form: Callable[[], list[Span]]) -> None:
    require_whole(form())


def answers(*spans: Span) -> list[Any]:
    return [json.loads(call["output_messages"] or "null") for call in views_of_spans(spans).model_calls]


@pytest.mark.parametrize(
    "told",
    [
        {"name": "get_weather", "arguments": GIVEN},
        {"type": "tool_use", "id": "toolu_01", "name": "get_weather", "input": GIVEN},
        {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": json.dumps(GIVEN)},
    ],
)
def test_the_text_of_a_model_that_looks_like_a_call_is_its_text(told: dict[str, object]) -> None:
    said = json.dumps(told)
    ((message,),) = answers(messages(ASKED, [{"role": "assistant", "content": said}], USED[0]))
    assert message["parts"] == [{"type": "text", "content": said}]


def test_a_result_in_the_role_of_a_user_is_a_result() -> None:
    told = [*ASKED, CALLED, {"role": "user", "content": json.dumps({"result": RETURNED})}]
    (call,) = views_of_spans([messages(told, [SAID], USED[1])]).model_calls
    result = {"type": "tool_call_response", "id": "c1", "response": {"result": RETURNED}}
    assert json.loads(call["input_messages"])[-1] == {"role": "tool", "parts": [result]}


@pytest.mark.parametrize("said", ["Yes.", '{"result": 1, "of": 2}', '{"result": 1}\n{"result": 2}', "{"])
def test_what_a_user_says_after_calls_is_no_result(said: str) -> None:
    told = [*ASKED, CALLED, {"role": "user", "content": said}]
    (call,) = views_of_spans([messages(told, [SAID], USED[1])]).model_calls
    assert json.loads(call["input_messages"])[-1]["role"] == "user"


def test_a_result_before_any_call_is_what_a_user_said() -> None:
    told = [*ASKED, SAID, {"role": "user", "content": json.dumps({"result": RETURNED})}]
    (call,) = views_of_spans([messages(told, [SAID], USED[1])]).model_calls
    assert json.loads(call["input_messages"])[-1]["role"] == "user"


def test_one_value_is_no_object_of_leaves() -> None:
    tool = ran(x__inputs__value="Oslo", x__inputs__mime_type="text/plain")
    (call,) = views_of_spans(run_of(first(), tool, last())).tool_calls
    assert json.loads(call["arguments"]) in (GIVEN, "Oslo")


def test_another_answer_beside_a_request_is_another_request() -> None:
    spans = told_by_two_instrumentations()
    other = {"role": "assistant", "content": "Something else."}
    changed = {**spans[2].attributes, "gen_ai.output.messages": json.dumps([other])}
    views = views_of_spans([*spans[:2], replace(spans[2], attributes=changed), *spans[3:]])
    assert len(views.model_calls) == 3


def test_the_model_asked_for_is_that_of_the_parameters() -> None:
    told = {"gen_ai.request.model": "m-1-2025-01-01", "x.parameters": json.dumps({"model": "m-1", "seed": 1})}
    (call,) = views_of_spans([replace(first(), attributes={**first().attributes, **told})]).model_calls
    assert (call["request_model"], call["response_model"]) == ("m-1", "m-1-2025-01-01")


def test_parameters_of_a_response_tell_which_model_answered() -> None:
    fields = {"id": "r-1", "created_at": 1, "model": "m-1-2025-01-01"}
    told = {"gen_ai.request.model": "m-1-2025-01-01", "x.parameters": json.dumps(fields)}
    (call,) = views_of_spans([replace(first(), attributes={**first().attributes, **told})]).model_calls
    assert call["response_model"] == "m-1-2025-01-01"


@pytest.mark.parametrize(
    ("given", "by_id", "is_same"),
    [("a", True, True), ('"a"', True, True), ("c", True, False), ("a", False, False), ("", True, False)],
)
def test_the_only_text_that_a_program_was_given(given: str, by_id: bool, is_same: bool) -> None:
    assert holds_arguments(given, {"query": "a", "top_k": 2}, by_id) is is_same


def test_two_questions_in_traces_of_their_own_are_two_runs() -> None:
    other = [ASKED[0], {"role": "user", "content": f"{QUESTION} And Bergen?"}]
    spans = in_traces([messages(ASKED, [SAID], USED[0]), messages(other, [SAID], USED[1])])
    runs = views_of_spans(spans).runs
    assert [run["output"] for run in runs] == [ANSWER, ANSWER]
    assert SYSTEM not in str(runs[0]["input"])


def test_a_prompt_in_an_event_is_no_request_while_nothing_answers_it() -> None:
    told = Event(
        name="Began", time_ns=1, attributes={"messages": json.dumps(ASKED), "model_dict.model_name": "m-1"}
    )
    silent = make_span({}, "Client.chat", events=[told])
    assert not views_of_spans([silent]).model_calls
    (failed,) = views_of_spans([replace(silent, status="error")]).model_calls
    assert (failed["request_model"], failed["status"]) == ("m-1", "error")
