"""Forms that practice in other languages than Python showed: each is read whole, and what is nearly the same is not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from made_spans import make_span
from recordings.record.pure_views import views_of_spans
from weather_question import ANSWER, ASKED, CALL, GIVEN, QUESTION, RETURNED, SYSTEM, model_span, require_whole

from retrospan.ingest.interpret.spans.span import Span

SECOND = 10**9


def at(span: Span, begun: float, ended: float, parent: Span | None = None) -> Span:
    """Return a span at times in seconds, inside another one."""
    above = parent.span_id if parent is not None else ""
    begun, ended = int(begun * SECOND), int(ended * SECOND)
    return replace(span, parent_span_id=above, started_at=begun, ended_at=ended)


def formed(kind: str, value: object) -> str:
    """Return a value with a word for its form."""
    return json.dumps({"type": kind, "value": value})


def serialised(sort: str, /, **fields: object) -> dict[str, object]:
    """Return a message as LangChain serialises it."""
    kwargs = {"additional_kwargs": {}, "response_metadata": {}, **fields}
    return {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", sort], "kwargs": kwargs}


ASKING = serialised(
    "AIMessage",
    content="",
    tool_calls=[{"name": "get_weather", "args": GIVEN, "type": "tool_call", "id": "c1"}],
    response_metadata={
        "model_name": "m-1-2026-01-01",
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    },
)
RESULT = serialised("ToolMessage", content=json.dumps(RETURNED), tool_call_id="c1", name="get_weather")
#: A call of a model as the instrumentation tells it: without the calls in its messages.
WITHOUT_CALL = {"role": "assistant", "content": "", "function_call": {}}


def step(name: str, begun: float, ended: float, given: list[Any], returned: object, root: Span) -> Span:
    told = {"x.span.type": "chain", "x.input": formed("json", {"messages": given}), "x.output": returned}
    return at(make_span(told, name), begun, ended, root)


def request(
    begun: float, ended: float, parent: Span, given: list[Any], answer: object, **more: object
) -> Span:
    told = {"x.span.type": "llm", "x.input": formed("chat_messages", given)}
    returned = formed("list", [{"type": "chat_messages", "value": [answer]}])
    return at(model_span({**told, "x.output": returned, **more}), begun, ended, parent)


def in_steps(results: list[Any] | None = None) -> list[Span]:
    """Return a run whose requests leave out calls and ids, inside of steps that were given and returned them."""
    root = at(make_span({"x.span.type": "agent", "x.input": QUESTION, "x.output": ANSWER}, "orla"), 1, 9)
    asked = serialised("HumanMessage", content=QUESTION)
    command = {"lg_name": "Command", "update": {"messages": [ASKING]}, "goto": []}
    one = step("model", 2, 3, [asked], formed("json", {"output": [command]}), root)
    used = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}
    first = request(2.2, 2.8, one, ASKED, WITHOUT_CALL, **used)
    ran = make_span(
        {
            "x.span.type": "tool",
            "gen_ai.tool.name": "get_weather",
            "x.input": formed("text", json.dumps(GIVEN)),
            "x.output": formed("json", {"type": "text", "value": RESULT}),
        },
        "get_weather",
    )
    tool = at(ran, 4, 5, root)
    said = serialised("AIMessage", content=ANSWER)
    told = [*ASKED, WITHOUT_CALL, {"role": "tool", "content": json.dumps(RETURNED)}]
    given = [asked, ASKING, *(results or [RESULT])]
    two = step("model", 6, 7, given, formed("json", {"messages": [said]}), root)
    used = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 4}
    last = request(6.2, 6.8, two, told, {"role": "assistant", "content": ANSWER, "function_call": {}}, **used)
    return [root, one, first, tool, two, last]


def test_requests_without_calls_are_completed_by_the_steps_around_them() -> None:
    spans = in_steps()
    require_whole(spans)
    assert views_of_spans(spans).model_calls[0]["response_model"] == "m-1-2026-01-01"


def test_a_prompt_is_not_completed_by_a_step_that_was_given_another() -> None:
    other = serialised("ToolMessage", content='{"city": "Rome"}', tool_call_id="c9", name="get_weather")
    last = views_of_spans(in_steps([other])).model_calls[1]
    assert "c9" not in str(last["input_messages"])


def test_what_a_tool_returned_in_its_own_form_stays_as_it_is() -> None:
    spans = in_steps()
    own = {"type": "text", "value": {"city": "Oslo"}}
    attributes = {**spans[3].attributes, "x.output": formed("json", own)}
    (tool,) = views_of_spans([*spans[:3], replace(spans[3], attributes=attributes), *spans[4:]]).tool_calls
    assert json.loads(tool["result"]) == own


def test_calls_that_no_answer_tells_stand_in_the_order_of_their_results() -> None:
    def ran(call_id: str, city: str, begun: float, parent: Span) -> Span:
        told: dict[str, object] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": json.dumps({"city": city}),
            "gen_ai.tool.call.result": json.dumps({"in": city}),
        }
        return at(make_span(told, "execute_tool get_weather"), begun, begun + 0.1, parent)

    root = at(make_span({"gen_ai.operation.name": "invoke_agent"}, "invoke_agent"), 1, 9)
    reasons = {"gen_ai.response.finish_reasons": ["tool_calls"]}
    first = at(model_span({"gen_ai.input.messages": json.dumps(ASKED), **reasons}), 2, 4, root)
    tools = [ran("c2", "Bergen", 3, first), ran("c1", "Oslo", 3.5, first)]
    results = [{"role": "tool", "content": json.dumps({"in": city})} for city in ("Oslo", "Bergen")]
    told = {"gen_ai.input.messages": json.dumps([*ASKED, *results])}
    said = json.dumps([{"role": "assistant", "content": ANSWER}])
    last = at(model_span({**told, "gen_ai.output.messages": said}), 5, 6, root)
    (answer,) = json.loads(views_of_spans([root, first, *tools, last]).model_calls[0]["output_messages"])
    assert [part["id"] for part in answer["parts"]] == ["c1", "c2"]


def told(**more: object) -> list[Span]:
    """Return a run of two requests and a tool by the conventions; `more` is what the first answer tells beside its text."""
    root = at(make_span({"gen_ai.operation.name": "invoke_agent"}, "invoke_agent"), 1, 9)
    asked = {"gen_ai.input.messages": json.dumps(ASKED), "x.response.text": '[""]'}
    named = {name.replace("__", "."): value for name, value in more.items()}
    first = at(model_span({**asked, **named}), 2, 3, root)
    ran: dict[str, object] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "DynamicStructuredTool",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": json.dumps(GIVEN),
        "gen_ai.tool.call.result": "[object ToolMessage]",
    }
    tool = at(make_span(ran, "execute_tool DynamicStructuredTool"), 4, 5, root)
    return [root, first, tool]


CALLS = json.dumps([{"name": "get_weather", "args": GIVEN, "type": "tool_call", "id": "c1"}])


def test_calls_stand_beside_an_answer_in_a_list_of_their_own() -> None:
    views = views_of_spans(told(x__response__tool_calls=CALLS))
    (answer,) = json.loads(views.model_calls[0]["output_messages"])
    assert [part.get("id") for part in answer["parts"] if part["type"] == "tool_call"] == ["c1"]


def test_calls_that_a_request_repeats_are_not_its_answer() -> None:
    views = views_of_spans(told(x__request__tool_calls=CALLS))
    assert "c1" not in str(views.model_calls[0]["output_messages"])


def test_calls_of_an_answer_that_did_not_end_for_them_are_not_taken() -> None:
    ended = {"gen_ai__response__finish_reasons": ["stop"]}
    views = views_of_spans(told(x__response__tool_calls=CALLS, **ended))
    assert "c1" not in str(views.model_calls[0]["output_messages"])


def test_an_execution_called_after_a_class_is_that_of_the_tool_whose_call_it_names() -> None:
    (tool,) = views_of_spans(told(x__response__tool_calls=CALLS)).tool_calls
    assert (tool["tool_name"], tool["result"]) == ("get_weather", None)


def test_what_is_printed_of_an_object_is_told_by_the_next_prompt() -> None:
    asked = [*ASKED, {"role": "assistant", "content": "", "tool_calls": [CALL]}]
    results = [{"role": "tool", "tool_call_id": "c1", "content": json.dumps(RETURNED)}]
    given = {"gen_ai.input.messages": json.dumps([*asked, *results])}
    unprinted = {"gen_ai.system_instructions": json.dumps([{"type": "text", "content": "[object Object]"}])}
    root, first, tool = told(x__response__tool_calls=CALLS)
    last = at(model_span({**given, **unprinted}), 6, 7, root)
    views = views_of_spans([root, first, tool, last])
    (called,) = views.tool_calls
    assert json.loads(called["result"]) == RETURNED
    assert SYSTEM in str(views.model_calls[1]["system_instructions"])
