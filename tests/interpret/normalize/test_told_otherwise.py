"""Forms of one vendor each, read by their shape: definitions among messages, results in envelopes, counts in parts."""

from __future__ import annotations

import json

import pytest
from made_spans import event, make_span
from spans import rows_of_spans

from retrospan.ingest.interpret.normalize.kind_evidence import kind_keys
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

ANSWER = {"role": "assistant", "content": "Cold."}


def rows_of(*spans: Span) -> Rows:
    (rows,) = rows_of_spans(spans)
    return rows


def test_a_definition_among_the_messages_is_not_something_that_a_tool_said() -> None:
    defined = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    given = [{"role": "user", "content": "?"}, {"role": "tool", "content": defined}]
    rows = rows_of(
        make_span(
            {"langfuse.observation.type": "generation", "langfuse.observation.input": json.dumps(given)}
        )
    )
    (call,) = rows.model_calls
    assert len(call.input_values) == 1
    (tools,) = (value for value in rows.values if value.number == call.tools_value)
    (defined_there,) = (value for value in rows.values if value.number in tools.elements)
    assert json.loads(defined_there.json) == defined
    said = [{"role": "user", "content": "?"}, {"role": "tool", "content": defined, "tool_call_id": "c1"}]
    (call,) = rows_of(
        make_span({"langfuse.observation.type": "generation", "langfuse.observation.input": json.dumps(said)})
    ).model_calls
    assert len(call.input_values) == 2, "a tool that returns a definition was called"


@pytest.mark.parametrize(
    ("returned", "result"),
    [
        ({"id": "c1", "name": "weather", "response": {"degrees": -3}}, '{"degrees":-3}'),
        (
            {"id": "c1", "name": "news", "response": {"degrees": -3}},
            '{"id":"c1","name":"news","response":{"degrees":-3}}',
        ),
        ({"tool_output": {"content": "-3", "raw_output": {"degrees": -3}}}, '{"degrees":-3}'),
    ],
)
def test_a_result_is_taken_out_of_the_envelope_of_its_own_tool(returned: object, result: str) -> None:
    attributes = {
        "openinference.span.kind": "TOOL",
        "tool.name": "weather",
        "output.value": json.dumps(returned),
    }
    (call,) = rows_of(make_span(dict(attributes))).tool_calls
    assert call.result == result


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input": 86, "output": 25, "total": 175, "input_cache_read": 64}, (150, 25, 64)),
        (
            {"input": 86, "output": 20, "total": 175, "input_cache_read": 64, "output_reasoning": 5},
            (150, 25, 64),
        ),
        ({"input": 150, "output": 25, "total": 175, "input_cache_read": 64}, (150, 25, 64)),
        ({"input": 86, "output": 25, "input_cache_read": 64}, (86, 25, None)),
    ],
    ids=["apart", "both apart", "within", "no total tells"],
)
def test_parts_of_a_count_are_added_where_the_total_says_so(
    usage: dict[str, int], expected: tuple[int, int, int | None]
) -> None:
    for key in ("langfuse.observation.usage_details", "acme.used"):
        chat: dict[str, object] = {"gen_ai.operation.name": "chat", key: json.dumps(usage)}
        if key == "acme.used" and "total" not in usage:
            continue
        (call,) = rows_of(make_span(chat)).model_calls
        assert (call.input_tokens, call.output_tokens, call.cached_tokens) == expected


def test_an_object_that_is_not_all_counts_is_not_usage() -> None:
    told = json.dumps({"input_tokens": 5, "output_tokens": 7, "note": "made up"})
    (call,) = rows_of(make_span({"gen_ai.operation.name": "chat", "acme.used": told})).model_calls
    assert (call.input_tokens, call.output_tokens) == (None, None)


def test_the_event_of_a_message_holds_it_under_any_name() -> None:
    chat = make_span(
        {"gen_ai.operation.name": "chat"},
        events=[
            event("gen_ai.user.message", 1, acme__said='[{"text": "How cold is it?"}]'),
            event("gen_ai.choice", 2, acme__why="stop", acme__said='[{"text": "Very."}]'),
        ],
    )
    run = rows_of(chat).runs[0]
    assert (run.input, run.output) == ("How cold is it?", "Very.")


def test_a_crew_is_asked_what_its_task_says() -> None:
    crew = make_span({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "crew"}, span_id="1" * 16)
    task = make_span(
        {"gen_ai.operation.name": "invoke_agent", "crewai.task.description": "Find it."},
        parent_span_id="1" * 16,
        span_id="2" * 16,
    )
    chat = make_span(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": '[{"role": "user", "content": "Your task: Find it. Be brief."}]',
        },
        parent_span_id="2" * 16,
    )
    assert rows_of(crew, task, chat).runs[0].input == "Find it."


@pytest.mark.parametrize(
    ("provider", "model", "asked"),
    [("openai", "openai/gpt-4o", "gpt-4o"), ("openrouter", "openai/gpt-4o", "openai/gpt-4o")],
)
def test_a_gateway_is_told_the_provider_by_the_name_of_the_model(
    provider: str, model: str, asked: str
) -> None:
    attributes: dict[str, object] = {
        "openinference.span.kind": "LLM",
        "llm.provider": provider,
        "llm.model_name": model,
        "llm.invocation_parameters": json.dumps({"model": model}),
    }
    (call,) = rows_of(make_span(attributes)).model_calls
    assert (call.request_model, call.response_model) == (asked, None)


def test_a_kind_may_travel_as_json_and_a_parser_tells_nothing_against_it() -> None:
    attributes: dict[str, object] = {"acme.kind": '"CHAT_MODEL"', "acme.returned": json.dumps(ANSWER)}
    spans = [
        make_span({"acme.kind": '"AGENT"'}, span_id="1" * 16),
        make_span(attributes, span_id="2" * 16, parent_span_id="1" * 16),
        make_span({"acme.kind": '"PARSER"'}, span_id="3" * 16, parent_span_id="1" * 16),
    ]
    assert [step.step_kind for step in rows_of(*spans).steps] == ["model"]
    other = make_span({"acme.kind": '"FLAVOUR"'}, span_id="4" * 16, parent_span_id="1" * 16)
    assert "acme.kind" not in {key.name for key in kind_keys([*spans, other]).values()}


def test_a_response_repeats_the_instructions_it_was_given() -> None:
    response = {
        "id": "resp_1",
        "object": "response",
        "model": "m-1",
        "instructions": "Be brief.",
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OK."}]}
        ],
    }
    for key in ("output.value", "response_data"):
        kind = (
            {"openinference.span.kind": "LLM"} if key == "output.value" else {"gen_ai.operation.name": "chat"}
        )
        rows = rows_of(make_span({**kind, key: json.dumps(response)}))
        (call,) = rows.model_calls
        (given,) = (value.elements for value in rows.values if value.number == call.system_value)
        said = [json.loads(value.json) for value in rows.values if value.number in given]
        assert said == [{"type": "text", "content": "Be brief."}], key
    asked = response | {"instructions": None}
    rows = rows_of(make_span({"openinference.span.kind": "LLM", "output.value": json.dumps(asked)}))
    assert not rows.model_calls[0].system_value


def test_an_agent_says_what_its_models_used() -> None:
    usage = {"input_tokens": 50, "output_tokens": 7, "total_tokens": 57}
    agent = make_span(
        {"gen_ai.operation.name": "invoke_agent", "mlflow.chat.tokenUsage": json.dumps(usage)},
        span_id="1" * 16,
    )
    chat = make_span({"gen_ai.operation.name": "chat"}, span_id="2" * 16, parent_span_id="1" * 16)
    run = rows_of(agent, chat).runs[0]
    assert (run.input_tokens, run.output_tokens) == (50, 7)
    counted: dict[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 30}
    run = rows_of(agent, make_span(counted, span_id="2" * 16, parent_span_id="1" * 16)).runs[0]
    assert run.input_tokens == 30, "what each call says counts, once"


def test_indexed_tools_are_read_beside_an_event_with_the_details() -> None:
    schema = {"name": "weather", "parameters": {}}
    asked = make_span(
        {"openinference.span.kind": "LLM", "llm.tools.0.tool.json_schema": json.dumps(schema)},
        events=[event("gen_ai.client.inference.operation.details", gen_ai__response__id="r1")],
    )
    rows = rows_of(asked)
    assert [json.loads(value.json) for value in rows.values if value.json] == [schema]
