"""Runs without a span for any model call, in which steps hand messages on to each other."""

from __future__ import annotations

import json
from typing import Any

from made_spans import make_span
from spans import rows_of_spans

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

SYSTEM = {"role": "system", "content": "Use the tools."}
USER = {"role": "user", "content": "How is the weather in Oslo?"}
ASKS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {
            "id": "c1",
            "type": "function",
            "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
        }
    ],
}
SAYS = {"role": "assistant", "content": "It is cold."}
OUTPUT = {"content": "{'degrees': -3}", "raw_output": {"degrees": -3}, "is_error": False}


def step(returned: object, parent: str = "1" * 16, **more: object) -> Span:
    attributes = {"traceloop.span.kind": "task", "traceloop.entity.output": json.dumps(returned), **more}
    return make_span(attributes, name="Agent.task", parent_span_id=parent)


def workflow() -> Span:
    return make_span({"traceloop.span.kind": "workflow"}, name="Agent.workflow", span_id="1" * 16)


def tool(output: dict[str, Any]) -> Span:
    return step(
        {"tool_name": "weather", "tool_id": "c1", "tool_output": output},
        **{"tool.name": "weather", "tool.arguments": '{"city": "Oslo"}'},
    )


def rows_of(*spans: Span) -> Rows:
    (rows,) = rows_of_spans(spans)
    return rows


def said(rows: Rows) -> list[tuple[list[str], list[str]]]:
    """Return the roles that each model call was given, and those of its answer."""
    values = {value.number: value.role for value in rows.values}
    return [
        ([values[n] for n in call.input_values], [values[n] for n in call.output_values])
        for call in rows.model_calls
    ]


def test_a_step_that_answers_what_another_handed_it_is_a_model_call() -> None:
    prompt = {"input": [SYSTEM, USER], "name": "orla"}
    rows = rows_of(
        workflow(),
        step({"input": [USER]}),
        step(prompt),
        step({"response": ASKS, "name": "orla"}),
        tool(OUTPUT),
        step(prompt),
        step({"response": SAYS}),
        step({"result": {"response": SAYS}}),
    )
    assert said(rows) == [(["user"], ["assistant"]), (["user", "assistant", "tool"], ["assistant"])]
    assert [call.history for call in rows.model_calls] == ["full", "rebuilt"]
    (call,) = rows.tool_calls
    assert (call.tool_name, call.arguments, call.result) == ("weather", '{"city":"Oslo"}', '{"degrees":-3}')
    assert (call.tool_call_id, call.status, call.asked_by) == ("c1", "ok", 1)
    assert [step.step_kind for step in rows.steps] == ["model", "tool", "model"]
    assert (rows.runs[0].input, rows.runs[0].output) == (USER["content"], SAYS["content"])
    assert rows.problems == []


def test_of_the_objects_of_a_step_the_last_is_what_it_returned() -> None:
    def unnamed(given: object, returned: object) -> Span:
        attributes = {"acme.first": json.dumps(given), "acme.second": json.dumps(returned)}
        return make_span({"traceloop.span.kind": "task", **attributes}, parent_span_id="1" * 16)

    prompt = {"input": [SYSTEM, USER]}
    rows = rows_of(workflow(), unnamed({"n": 1}, prompt), unnamed(prompt, {"response": SAYS}))
    assert said(rows) == [(["user"], ["assistant"])]


def test_a_tool_that_failed_there_has_failed() -> None:
    prompt = {"input": [SYSTEM, USER]}
    failed = OUTPUT | {"content": "no such city", "raw_output": "no such city", "is_error": True}
    rows = rows_of(workflow(), step(prompt), step({"response": ASKS}), tool(failed))
    assert [(call.status, call.error_message) for call in rows.tool_calls] == [("error", "no such city")]
    parts = [{"type": "tool_result", "content": text} for text in ("no such city", "and none like it")]
    rows = rows_of(workflow(), step(prompt), step({"response": ASKS}), tool(failed | {"content": parts}))
    assert [call.error_message for call in rows.tool_calls] == ["no such city"]


def test_another_prompt_begins_without_the_results_of_the_last() -> None:
    rows = rows_of(
        workflow(),
        step({"input": [SYSTEM, USER]}),
        step({"response": ASKS}),
        tool(OUTPUT),
        step({"input": [SYSTEM, USER | {"content": "And in Bergen?"}]}),
        step({"response": SAYS}),
    )
    assert said(rows)[1] == (["user"], ["assistant"])


def test_what_no_model_need_have_said_is_not_a_model_call() -> None:
    for spans in (
        [workflow(), step({"input": [USER]}), step({"response": SAYS})],
        [workflow(), step({"response": ASKS})],
        [workflow(), step({"input": [SYSTEM, USER]}), step({"response": ASKS}, parent="2" * 16)],
        [workflow(), step({"input": [SYSTEM, USER]}), step({"a": SAYS, "b": ASKS})],
        [workflow(), step({"input": [SYSTEM, USER, SAYS]}), step({"response": SAYS})],
    ):
        assert rows_of(*spans).model_calls == []


def test_where_a_model_call_has_a_span_no_step_is_one() -> None:
    chat = make_span({"gen_ai.operation.name": "chat"}, parent_span_id="1" * 16)
    rows = rows_of(workflow(), step({"input": [SYSTEM, USER]}), chat, step({"response": ASKS}))
    assert [call.span_id for call in rows.model_calls] == [chat.span_id]
