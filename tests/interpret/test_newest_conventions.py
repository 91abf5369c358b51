"""What the conventions gained lately: prompts, users, what was looked for, providers' tools, MCP seen from both sides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_spans import make_span
from spans import rows_of_spans

from retrospan.ingest.interpret.rows.lists import Rows

CHAT: dict[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}


def rows_of(*spans: Any) -> Rows:
    (rows,) = rows_of_spans(spans)
    return rows


def test_a_call_has_its_prompt_and_how_soon_it_was_answered() -> None:
    chat = CHAT | {"gen_ai.prompt.name": "greeting", "gen_ai.prompt.version": "7"}
    (call,) = rows_of(make_span(chat | {"gen_ai.response.time_to_first_chunk": 0.25})).model_calls
    assert (call.prompt_name, call.prompt_version, call.time_to_first_chunk_ms) == ("greeting", "7", 250.0)
    (call,) = rows_of(make_span(CHAT | {"ai.response.msToFirstChunk": 31.5})).model_calls
    assert (call.prompt_name, call.time_to_first_chunk_ms) == (None, 31.5)
    for wrong in (-1.0, float("inf"), float("nan"), "soon", True):
        (call,) = rows_of(make_span(CHAT | {"gen_ai.response.time_to_first_chunk": wrong})).model_calls
        assert call.time_to_first_chunk_ms is None


@pytest.mark.parametrize(
    "attributes",
    [
        {"user.id": "u-1"},
        {"enduser.id": "u-1"},
        {"langfuse.user.id": "u-1"},
        {"traceloop.association.properties.user_id": "u-1"},
        {"ai.telemetry.metadata.userId": "u-1"},
        {"metadata": '{"user_id": "u-1"}'},
    ],
    ids=lambda attributes: next(iter(attributes)),
)
def test_a_run_has_the_user_it_worked_for(attributes: dict[str, object]) -> None:
    top = make_span({"gen_ai.operation.name": "invoke_agent"}, span_id="1" * 16)
    (run,) = rows_of(top, make_span(CHAT | attributes, parent_span_id="1" * 16)).runs
    assert run.user_id == "u-1"


def test_of_two_users_that_of_the_first_span_counts_and_none_is_null() -> None:
    top = make_span({"gen_ai.operation.name": "invoke_agent", "user.id": "u-1"}, span_id="1" * 16)
    (run,) = rows_of(top, make_span(CHAT | {"user.id": "u-2"}, parent_span_id="1" * 16)).runs
    assert run.user_id == "u-1"
    assert rows_of(make_span(CHAT)).runs[0].user_id is None


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (
            {
                "gen_ai.operation.name": "retrieval",
                "gen_ai.retrieval.query.text": "refunds",
                "gen_ai.data_source.id": "faq",
            },
            ("retrieval", "refunds", "faq"),
        ),
        (
            {
                "gen_ai.operation.name": "search_memory",
                "gen_ai.memory.query.text": "refunds",
                "gen_ai.memory.store.id": "store-1",
            },
            ("memory", "refunds", "store-1"),
        ),
        ({"openinference.span.kind": "RETRIEVER", "input.value": "refunds"}, ("retrieval", "refunds", None)),
        (
            {"openinference.span.kind": "RETRIEVER", "input.value": '{"query": "refunds", "k": 3}'},
            ("retrieval", "refunds", None),
        ),
        ({"openinference.span.kind": "RETRIEVER", "input.value": '{"k": 3}'}, ("retrieval", None, None)),
    ],
)
def test_a_step_says_what_was_looked_for_and_where(
    attributes: dict[str, object], expected: tuple[str, str | None, str | None]
) -> None:
    (step,) = rows_of(make_span(attributes)).steps
    assert (step.step_kind, step.query, step.data_source) == expected


def test_to_fetch_a_stored_response_is_not_another_call() -> None:
    fetch: dict[str, object] = {"gen_ai.operation.name": "fetch_response", "gen_ai.request.model": "m"}
    answer = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}])
    rows = rows_of(
        make_span(CHAT | {"gen_ai.output.messages": answer}),
        make_span(fetch | {"gen_ai.output.messages": answer}),
    )
    assert [call.ordinal for call in rows.model_calls] == [1]


SEARCH: dict[str, object] = {
    "type": "server_tool_call",
    "id": "s1",
    "name": "web_search",
    "server_tool_call": {"type": "web_search", "query": "weather in Oslo"},
}
FOUND: dict[str, object] = {
    "type": "server_tool_call_response",
    "id": "s1",
    "server_tool_call_response": {"type": "web_search", "content": ["4 degrees"]},
}


def answered(*parts: dict[str, object]) -> dict[str, object]:
    said = [{"role": "assistant", "parts": [*parts, {"type": "text", "content": "It is cold."}]}]
    return CHAT | {"gen_ai.output.messages": json.dumps(said), "gen_ai.response.finish_reasons": ["stop"]}


def test_a_tool_that_the_provider_ran_is_a_call_that_was_executed() -> None:
    rows = rows_of(make_span(answered(SEARCH, FOUND)))
    (tool,) = rows.tool_calls
    assert (tool.tool_name, tool.tool_call_id, tool.status, tool.asked_by) == ("web_search", "s1", "ok", 1)
    assert (tool.arguments, tool.result) == ('{"query":"weather in Oslo"}', '["4 degrees"]')
    assert (tool.step, tool.span_id, tool.result_source) == (None, None, "message")
    assert rows.problems == []
    assert rows.runs[0].output == "It is cold."


def test_it_is_told_once_though_later_prompts_tell_it_again() -> None:
    said = json.loads(str(answered(SEARCH, FOUND)["gen_ai.output.messages"]))
    again = [*said, {"role": "user", "parts": [{"type": "text", "content": "And in Bergen?"}]}]
    rows = rows_of(
        make_span(answered(SEARCH, FOUND)), make_span(CHAT | {"gen_ai.input.messages": json.dumps(again)})
    )
    assert [tool.tool_call_id for tool in rows.tool_calls] == ["s1"]


def test_without_a_response_it_is_unknown_and_an_error_is_one() -> None:
    assert [tool.status for tool in rows_of(make_span(answered(SEARCH))).tool_calls] == ["unknown"]
    failed = FOUND | {"is_error": True}
    assert [tool.status for tool in rows_of(make_span(answered(SEARCH, failed))).tool_calls] == ["error"]


@pytest.mark.parametrize(
    "content",
    [
        [
            {
                "type": "server_tool_use",
                "id": "s1",
                "name": "web_search",
                "input": {"query": "weather in Oslo"},
            },
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": ["4 degrees"]},
        ],
        [
            {"type": "mcp_tool_use", "id": "s1", "name": "web_search", "input": {"query": "weather in Oslo"}},
            {"type": "mcp_tool_result", "tool_use_id": "s1", "content": ["4 degrees"], "is_error": False},
        ],
    ],
    ids=["Anthropic's own", "Anthropic's MCP"],
)
def test_the_forms_of_anthropic_are_read_to_that_of_the_conventions(content: list[dict[str, object]]) -> None:
    told: dict[str, object] = {"openinference.span.kind": "LLM", "input.value": "?"}
    response = json.dumps({"role": "assistant", "content": content, "stop_reason": "end_turn"})
    (tool,) = rows_of(make_span(told | {"output.value": response})).tool_calls
    assert (tool.tool_name, tool.status, tool.result) == ("web_search", "ok", '["4 degrees"]')
    assert tool.arguments == '{"query":"weather in Oslo"}'


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ({"type": "web_fetch_result", "url": "https://example.com"}, "ok"),
        ({"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"}, "error"),
        ("no error_code", "ok"),
        (["error_code"], "ok"),
    ],
)
def test_a_result_of_anthropic_that_is_an_object_with_an_error_code_is_an_error(
    content: object, status: str
) -> None:
    told: dict[str, object] = {"openinference.span.kind": "LLM", "input.value": "?"}
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_fetch", "input": {"url": "https://example.com"}},
        {"type": "web_fetch_tool_result", "tool_use_id": "s1", "content": content},
    ]
    response = json.dumps({"role": "assistant", "content": blocks, "stop_reason": "end_turn"})
    (tool,) = rows_of(make_span(told | {"output.value": response})).tool_calls
    assert tool.status == status


def test_the_items_of_openai_tell_call_and_result_in_one() -> None:
    items = [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "Oslo"}},
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "name": "roll",
            "arguments": '{"dice": 2}',
            "output": "7",
            "server_label": "dice",
        },
        {"type": "mcp_call", "id": "mcp_2", "name": "roll", "arguments": "{}", "error": "no dice"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Seven."}]},
    ]
    told: dict[str, object] = {"openinference.span.kind": "LLM", "input.value": "?"}
    rows = rows_of(make_span(told | {"output.value": json.dumps({"output": items})}))
    assert [(tool.tool_name, tool.status, tool.result) for tool in rows.tool_calls] == [
        ("web_search", "unknown", None),
        ("roll", "ok", "7"),
        ("roll", "error", "no dice"),
    ]
    assert rows.tool_calls[1].arguments == '{"dice":2}'
    assert rows.runs[0].output == "Seven."


@pytest.mark.parametrize("with_call_id", [True, False])
def test_an_mcp_call_that_client_and_server_tell_is_one(with_call_id: bool) -> None:
    shared: dict[str, object] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "roll",
        "mcp.method.name": "tools/call",
    }
    agent = make_span({"gen_ai.operation.name": "invoke_agent"}, span_id="1" * 16)
    ours = {"gen_ai.tool.call.id": "c1"} if with_call_id else {}
    client = make_span(
        shared | ours | {"gen_ai.tool.call.arguments": '{"dice": 2}'},
        kind=3,
        span_id="2" * 16,
        parent_span_id="1" * 16,
    )
    server = make_span(
        shared | {"gen_ai.tool.call.result": "7", "jsonrpc.request.id": "9"},
        kind=2,
        scope="some.server",
        resource={"service.name": "dice"},
        span_id="3" * 16,
        parent_span_id="2" * 16,
    )
    for spans in ([agent, client, server], [server, client, agent]):
        (tool,) = rows_of(*spans).tool_calls
        assert (tool.tool_name, tool.arguments, tool.result) == ("roll", '{"dice":2}', "7")
        assert (tool.span_id, tool.status) == ("2" * 16, "ok")
