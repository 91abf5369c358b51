"""Input as nobody should send it: never a crash, never a guess; the canonical value is null, and the reason is listed."""

from __future__ import annotations

import json
import math
from contextlib import closing
from dataclasses import dataclass, fields
from typing import Any

import pytest

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.run import interpret, read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Event, Span
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.ingest.warehouse.rows import Types, column_types, encode_rows

OPERATIONS = (
    "chat",
    "execute_tool",
    "invoke_agent",
    "invoke_workflow",
    "embeddings",
    "retrieval",
    "agent_step",
)
JSON_KEYS = (
    *(
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.definitions",
    ),
    *("gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.retrieval.documents"),
    *(
        "input.value",
        "output.value",
        "metadata",
        "llm.invocation_parameters",
        "ai.prompt",
        "ai.response.toolCalls",
    ),
    *("mlflow.spanInputs", "mlflow.spanOutputs", "traceloop.entity.input", "traceloop.entity.output"),
    *("gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response", "langfuse.observation.usage_details"),
    *("retrospan.state.before", "retrospan.state.after"),
)
NUMBER_KEYS = (
    *("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens"),
    *("gen_ai.usage.prompt_tokens", "llm.token_count.total", "ai.usage.reasoningTokens"),
    *("gen_ai.usage.cost", "llm.cost.prompt", "llm.cost.completion", "llm.cost.total"),
    *(
        "retrospan.attempt",
        "retrospan.attempt.backoff_ms",
        "retrospan.context.limit",
        "retrospan.context.tokens",
    ),
    *("retrospan.step.index", "retrospan.step.total", "retrospan.fork.step", "langgraph.step", "metadata"),
)
#: Name → a value that any of these keys may come with.
WILD: dict[str, object] = {
    "truncated": '[{"role": "user", "parts": [{"type": "te',
    "encoded twice": json.dumps(json.dumps([{"role": "user", "content": "Hi"}])),
    "printed by Python": "[{'role': 'user', 'content': None}]",
    "not a number": "[NaN, Infinity]",
    "not a number as double": math.nan,
    "infinite": -math.inf,
    "a number too large": "1e999",
    "too many digits": "[" + "9" * 5000 + "]",
    "half a surrogate": '["\\ud800"]',
    "open brackets": "[" * 5000,
    "deep": "[" * 5000 + "]" * 5000,
    "equal keys": '{"role": "user", "role": "tool", "content": "a", "content": "b"}',
    "prototype": '{"__proto__": {"admin": true}, "constructor": {"prototype": 1}}',
    "a number": 7,
    "a truth value": True,
    "a list of odds": [1, None, [], {}, "", [[["x"]]]],
    "parts that are none": [
        {"role": 5, "parts": 7},
        {"parts": [None, 3, {"type": 9}]},
        {"role": ["user"], "content": {}},
    ],
    "calls that are none": [
        {"role": "assistant", "tool_calls": [1, None, {"function": 3}, {"id": 4, "function": {"name": 5}}]}
    ],
    "an object of odds": {
        "messages": {"role": 1},
        "inputs": 3,
        "usage": "x",
        "choices": [{"message": None}],
        "": None,
    },
    "empty": "",
    "nothing": None,
}


#: Of the columns of each table, which none of these tests writes to.
_TYPES: dict[str, Types] = {}


@pytest.fixture(scope="module", autouse=True)
def _types(engine: EmbeddedWarehouse) -> None:
    with closing(engine.connect()) as store:
        _TYPES.update({name: column_types(store, table) for name, table in TABLES.items()})


def _span(attributes: dict[str, object], **others: Any) -> Span:
    given: dict[str, Any] = {
        "trace_id": "a" * 32,
        "span_id": "b" * 16,
        "parent_span_id": "",
        "name": "span",
        "kind": 1,
        "flags": 0,
        "started_at": 1,
        "ended_at": 2,
        "status": "unset",
        "status_message": "",
        "scope": "some.framework",
        "scope_version": "",
        "attributes": attributes,
        "resource": {},
    }
    return Span(**{**given, **others})


def _read(attributes: dict[str, object], **others: Any) -> tuple[NormalizedSpan, dict[str, str]]:
    """Read one span through to the bytes of its rows; return the reading and the reasons by field."""
    problems = ParseIssues()
    (normalized,) = read_spans([_span(attributes, **others)], problems)
    rows = rows_of(interpret("r", [normalized], problems, None), "default", 1, None)
    for table in fields(rows):
        if written := getattr(rows, table.name):
            encode_rows(table.name, written, _TYPES[table.name])
    return normalized, {problem.field: problem.reason for problem in problems.found}


@pytest.mark.parametrize("name", WILD)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_nothing_breaks_reading(operation: str, name: str) -> None:
    alone, _ = _read({"gen_ai.operation.name": operation})
    for keys in [*([key] for key in JSON_KEYS), JSON_KEYS]:
        normalized, _ = _read({"gen_ai.operation.name": operation, **dict.fromkeys(keys, WILD[name])})
        assert normalized.operation == alone.operation


@dataclass(frozen=True)
class Case:
    """A value under a key, the field of the reading that must be null, and how the reason begins."""

    operation: str
    key: str
    value: object
    field: str
    reason: str
    problem: str = ""


CASES = {
    "truncated messages": Case("chat", "gen_ai.input.messages", WILD["truncated"], "input", "not JSON"),
    "truncated answer": Case("chat", "gen_ai.output.messages", WILD["truncated"], "output", "not JSON"),
    "truncated instructions": Case(
        "chat", "gen_ai.system_instructions", '[{"type": "te', "system", "not JSON"
    ),
    "truncated definitions": Case("chat", "gen_ai.tool.definitions", '[{"na', "tool_definitions", "not JSON"),
    "truncated arguments": Case(
        "execute_tool", "gen_ai.tool.call.arguments", '{"city": "Os', "arguments", "not JSON", "arguments"
    ),
    "truncated state": Case("agent_step", "retrospan.state.before", '{"a": 1', "state_before", "not JSON"),
    "state that is not an object": Case(
        "agent_step", "retrospan.state.after", "[1]", "state_after", "not a JSON object"
    ),
    "messages too deep": Case("chat", "gen_ai.input.messages", WILD["deep"], "input", "nested too deeply"),
    "a model that is a number": Case(
        "chat", "gen_ai.request.model", 5, "request_model", "text expected, not a number"
    ),
    "a conversation that is a list": Case(
        "chat", "gen_ai.conversation.id", ["c"], "conversation", "text expected, not a list"
    ),
    "a tool id that is an object": Case(
        "execute_tool", "gen_ai.tool.call.id", {"id": 1}, "tool_call_id", "text expected, not an object"
    ),
    "tokens in words": Case(
        "chat", "gen_ai.usage.input_tokens", "many", "tokens.input", "not a whole number"
    ),
    "fewer tokens than none": Case(
        "chat", "gen_ai.usage.output_tokens", -3, "tokens.output", "not a whole number"
    ),
    "tokens that are not a number": Case(
        "chat", "gen_ai.usage.input_tokens", math.nan, "tokens.input", "not a whole number"
    ),
    "more tokens than a column holds": Case(
        "chat", "gen_ai.usage.input_tokens", 2**64, "tokens.input", "not a whole number from 0 to 1,000,000"
    ),
    "more tokens than any call takes": Case(
        "chat", "gen_ai.usage.output_tokens", 1e300, "tokens.output", "not a whole number"
    ),
    "tokens as a long text": Case(
        "chat", "gen_ai.usage.input_tokens", "9999999999999", "tokens.input", "not a whole number"
    ),
    "tokens that are true": Case(
        "chat", "gen_ai.usage.input_tokens", True, "tokens.input", "not a whole number"
    ),
}


@pytest.mark.parametrize("value", [-(2**63), 2**32, 2**63 - 1, 2**64, 2**70, 1e17, 1e300, math.nan, "9" * 19])
def test_numbers_that_no_column_holds_do_not_lose_the_run(value: float | str) -> None:
    """The engine would have made other numbers of them, or have refused the rows."""
    for operation in OPERATIONS:
        for keys in [*([key] for key in NUMBER_KEYS), NUMBER_KEYS]:
            normalized, _ = _read({"gen_ai.operation.name": operation, **dict.fromkeys(keys, value)})
            assert normalized.tokens.input in (None, 2**32), "what was sent, or not known"


@pytest.mark.parametrize("value", [-1, 2**32, 2**64, "3", 1.5])
def test_a_number_by_a_name_of_ours_that_is_not_one_has_its_reason(value: float | str) -> None:
    for key in NUMBER_KEYS:
        if key.startswith("retrospan."):
            _, reasons = _read({"gen_ai.operation.name": "chat", key: value})
            assert reasons == {key: "not a whole number from 0 to 4,294,967,295"}
            assert _read({"gen_ai.operation.name": "chat", key: 2**32 - 1})[1] == {}


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_read_is_null_with_its_reason(name: str) -> None:
    case = CASES[name]
    normalized, reasons = _read({"gen_ai.operation.name": case.operation, case.key: case.value})
    found: object = normalized
    for part in case.field.split("."):
        found = getattr(found, part)
    assert not found
    assert reasons[case.problem or case.key].startswith(case.reason)


def test_good_values_are_not_problems() -> None:
    normalized, reasons = _read(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.system_instructions": "[INST] Be brief",
            "gen_ai.usage.input_tokens": "12",
            "gen_ai.usage.output_tokens": 3.0,
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Hi",
        }
    )
    assert (normalized.tokens.input, normalized.tokens.output, reasons) == (12, 3, {})
    assert normalized.system == [{"type": "text", "content": "[INST] Be brief"}]
    for arguments in ("Oslo", "{'city': 'Oslo'}", '{"city": "Oslo"}'):
        tool, reasons = _read(
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": arguments}
        )
        assert tool.has_arguments
        assert reasons == {}


def test_a_tools_result_is_text_where_it_is_not_json() -> None:
    for text in ('{"sky": "sn', "[1] see the list", "{name}, hello"):
        tool, _ = _read({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": text})
        assert tool.result == text


@pytest.mark.parametrize(
    "encoded", [json.dumps([{"role": "user", "content": "Hi"}]), "Message(role='user', content='Hi')"]
)
def test_json_in_json_and_what_python_prints_are_read_where_that_is_certain(encoded: str) -> None:
    normalized, _ = _read({"gen_ai.operation.name": "chat", "input.value": json.dumps({"messages": encoded})})
    assert normalized.input == [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]


def test_of_equal_keys_the_last_counts_and_odd_keys_are_keys() -> None:
    normalized, _ = _read(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.call.arguments": '{"a": 1, "a": 2, "__proto__": {"admin": true}, "": 0}',
        }
    )
    assert normalized.arguments == {"a": 2, "__proto__": {"admin": True}, "": 0}


def test_indexes_with_holes_are_read_in_order_and_the_holes_are_told() -> None:
    messages = {
        f"llm.input_messages.{index}.message.{key}": value
        for index in (10, 3, 2)
        for key, value in (("role", "user"), ("content", f"m{index}"))
    }
    normalized, reasons = _read(
        {"openinference.span.kind": "LLM", **messages, "llm.input_messages.x.message.role": "user"}
    )
    assert [part.get("content") for message in normalized.input for part in message["parts"]] == [
        "m2",
        "m3",
        "m10",
    ]
    assert reasons == {"llm.input_messages": "indexes have gaps: these never arrived"}


def test_ten_megabytes_and_a_hundred_thousand_events_are_read() -> None:
    text = "x" * 10_000_000
    events = [Event(name="token", time_ns=number, attributes={"n": number}) for number in range(100_000)]
    normalized, reasons = _read(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": text}, events=events
    )
    assert (normalized.result, reasons) == (text, {})
    normalized, reasons = _read(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps([{"role": "user", "content": text}]),
            "gen_ai.output.messages": '[{"role": "assistant", "content": "' + text,
        },
        events=events,
    )
    assert normalized.input == [{"role": "user", "parts": [{"type": "text", "content": text}]}]
    assert normalized.output == []
    assert reasons["gen_ai.output.messages"].startswith("not JSON")
