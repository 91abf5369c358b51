"""Spans in the forms of instrumentations that no recording here holds: what the general rules make of each."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest
from spans import read_run

from retrospan.ingest.interpret.problems import Problems
from retrospan.ingest.interpret.reading import Reading
from retrospan.ingest.interpret.run import Run, read_spans
from retrospan.ingest.interpret.span import Event, LogRecord, Span

_NUMBERS = count(1)


def _span(attributes: dict[str, object], name: str = "span", **others: Any) -> Span:
    """Return a span; times are whole seconds, the later made the later."""
    number = next(_NUMBERS)
    given: dict[str, Any] = {
        "trace_id": "a" * 32,
        "span_id": f"{number:016x}",
        "parent_span_id": "",
        "name": name,
        "kind": 1,
        "flags": 0,
        "started_at": number * 10**9,
        "ended_at": number * 10**9 + 10**8,
        "status": "unset",
        "status_message": "",
        "scope": "some.framework",
        "scope_version": "",
        "attributes": attributes,
        "resource": {},
    }
    return Span(**{**given, **others})


def _event(name: str, at: int = 1, **attributes: object) -> Event:
    return Event(name=name, time_ns=at, attributes={k.replace("__", "."): v for k, v in attributes.items()})


def _log(name: str, body: object, at: int = 1) -> LogRecord:
    return LogRecord(event=name, time_ns=at, body=body, attributes={}, order=(at, at, ""))


def _text(role: str, text: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


_CALL: dict[str, object] = {
    "type": "tool_call",
    "id": "c1",
    "name": "get_weather",
    "arguments": {"city": "Oslo"},
}
_ASKS: dict[str, object] = {"role": "assistant", "parts": [_CALL]}
_CHAT = {
    "id": "c1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
}
_HI = [{"role": "user", "content": "Hi"}]

#: Name of the form → the span, and the fields of its reading that must come out.
_FORMS: dict[str, tuple[Span, dict[str, object]]] = {
    "langfuse generation": (
        _span(
            {
                "langfuse.observation.type": "generation",
                "langfuse.observation.input": json.dumps(_HI),
                "langfuse.observation.output": '{"role": "assistant", "content": "Ho"}',
                "langfuse.observation.model.name": "m-1",
                "langfuse.observation.usage_details": '{"input": 7, "output": 2, "total": 9}',
                "session.id": "s1",
            }
        ),
        {
            "operation": "inference",
            "input": [_text("user", "Hi")],
            "output": [_text("assistant", "Ho")],
            "request_model": "m-1",
            "conversation": "s1",
            "tokens": (7, 2),
        },
    ),
    "langfuse tool that failed": (
        _span(
            {
                "langfuse.observation.type": "tool",
                "langfuse.observation.input": '{"city": "Oslo"}',
                "langfuse.observation.output": '{"sky": "snow"}',
                "langfuse.observation.level": "ERROR",
            },
            "get_weather",
        ),
        {
            "operation": "tool",
            "tool_name": "get_weather",
            "arguments": {"city": "Oslo"},
            "result": {"sky": "snow"},
            "failed": True,
        },
    ),
    "laminar tool": (
        _span(
            {
                "lmnr.span.type": "TOOL",
                "lmnr.span.input": '{"city": "Oslo"}',
                "lmnr.span.output": '{"sky": "snow"}',
                "lmnr.association.properties.session_id": "s1",
            },
            "get_weather",
        ),
        {
            "operation": "tool",
            "arguments": {"city": "Oslo"},
            "result": {"sky": "snow"},
            "conversation": "s1",
        },
    ),
    "genkit model": (
        _span(
            {
                "genkit:type": "action",
                "genkit:metadata:subtype": "model",
                "genkit:name": "vendor/m-1",
                "genkit:input": json.dumps(
                    {
                        "messages": [
                            {"role": "user", "content": [{"text": "Weather?"}]},
                            {
                                "role": "model",
                                "content": [
                                    {
                                        "toolRequest": {
                                            "name": "get_weather",
                                            "ref": "c1",
                                            "input": {"city": "Oslo"},
                                        }
                                    }
                                ],
                            },
                            {
                                "role": "tool",
                                "content": [
                                    {
                                        "toolResponse": {
                                            "name": "get_weather",
                                            "ref": "c1",
                                            "output": {"sky": "snow"},
                                        }
                                    }
                                ],
                            },
                        ]
                    }
                ),
                "genkit:output": json.dumps(
                    {
                        "message": {"role": "model", "content": [{"text": "Snow."}]},
                        "usage": {"inputTokens": 9, "outputTokens": 3},
                    }
                ),
            }
        ),
        {
            "operation": "inference",
            "input": [
                _text("user", "Weather?"),
                _ASKS,
                {
                    "role": "tool",
                    "parts": [{"type": "tool_call_response", "id": "c1", "response": {"sky": "snow"}}],
                },
            ],
            "output": [_text("assistant", "Snow.")],
            "tokens": (9, 3),
        },
    ),
    "genkit tool": (
        _span(
            {
                "genkit:type": "action",
                "genkit:metadata:subtype": "tool",
                "genkit:name": "get_weather",
                "genkit:input": '{"city": "Oslo"}',
                "genkit:output": '{"sky": "snow"}',
            }
        ),
        {
            "operation": "tool",
            "tool_name": "get_weather",
            "arguments": {"city": "Oslo"},
            "result": {"sky": "snow"},
        },
    ),
    "spring ai chat": (
        _span(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.system": "openai",
                "gen_ai.request.model": "m",
                "gen_ai.response.model": "m-1",
                "gen_ai.usage.input_tokens": 5,
                "gen_ai.usage.output_tokens": 2,
            },
            events=[
                _event("gen_ai.content.prompt", gen_ai__prompt="Hi"),
                _event("gen_ai.content.completion", 2, gen_ai__completion="Ho"),
            ],
        ),
        {
            "operation": "inference",
            "input": [_text("user", "Hi")],
            "output": [_text("assistant", "Ho")],
            "response_model": "m-1",
            "tokens": (5, 2),
        },
    ),
    "spring ai tool": (
        _span(
            {
                "spring.ai.kind": "tool_call",
                "spring.ai.tool.definition.name": "get_weather",
                "spring.ai.tool.call.arguments": '{"city": "Oslo"}',
                "spring.ai.tool.call.result": '{"sky": "snow"}',
            }
        ),
        {
            "operation": "tool",
            "tool_name": "get_weather",
            "arguments": {"city": "Oslo"},
            "result": {"sky": "snow"},
        },
    ),
    "azure ai inference": (
        _span(
            {"gen_ai.operation.name": "chat", "gen_ai.system": "az.ai.inference", "gen_ai.thread.id": "t1"},
            events=[
                _event(
                    "gen_ai.user.message", gen_ai__event__content='{"role": "user", "content": "Weather?"}'
                ),
                _event(
                    "gen_ai.choice",
                    2,
                    gen_ai__event__content=json.dumps(
                        {"finish_reason": "tool_calls", "index": 0, "message": {"tool_calls": [_CHAT]}}
                    ),
                ),
            ],
        ),
        {"input": [_text("user", "Weather?")], "output": [_ASKS], "conversation": "t1"},
    ),
    "bedrock agentcore log": (
        _span(
            {"gen_ai.operation.name": "chat"},
            logs=[
                _log(
                    "some.scope",
                    {
                        "input": {"messages": _HI},
                        "output": {"messages": [{"role": "assistant", "content": "Ho"}]},
                    },
                )
            ],
        ),
        {"input": [_text("user", "Hi")], "output": [_text("assistant", "Ho")]},
    ),
    "claude code request": (
        _span(
            {
                "span.type": "llm_request",
                "model": "m-1",
                "input_tokens": 3,
                "output_tokens": 2,
                "cache_read_tokens": 10,
                "cache_creation_tokens": 4,
                "session.id": "s1",
            }
        ),
        {"operation": "inference", "request_model": "m-1", "tokens": (17, 2), "conversation": "s1"},
    ),
    "claude code tool": (
        _span(
            {
                "span.type": "tool",
                "tool_name": "Bash",
                "tool_use_id": "c1",
                "tool_input": '{"command": "ls"}',
            }
        ),
        {
            "operation": "tool",
            "tool_name": "Bash",
            "tool_call_id": "c1",
            "arguments": {"command": "ls"},
        },
    ),
    "agentops tool": (
        _span(
            {
                "agentops.span.kind": "tool",
                "agentops.entity.input": '{"args": [], "kwargs": {"city": "Oslo"}}',
                "agentops.entity.output": '{"sky": "snow"}',
            },
            "get_weather",
        ),
        {"operation": "tool", "arguments": {"city": "Oslo"}, "result": {"sky": "snow"}},
    ),
    "mastra tool": (
        _span(
            {
                "mastra.span.type": "mcp_tool_call",
                "mastra.mcp_tool_call.input": '{"city": "Oslo"}',
                "mastra.mcp_tool_call.output": '{"sky": "snow"}',
            },
            "get_weather",
        ),
        {"operation": "tool", "arguments": {"city": "Oslo"}, "result": {"sky": "snow"}},
    ),
    "loongsuite agent": (
        _span({"gen_ai.span.kind": "AGENT", "gen_ai.agent.name": "orla", "gen_ai.session.id": "s1"}),
        {"operation": "agent", "agent_name": "orla", "conversation": "s1"},
    ),
    "openlit tool": (
        _span(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "get_weather",
                "gen_ai.tool.args": '{"city": "Oslo"}',
                "gen_ai.output.messages": '{"sky": "snow"}',
            }
        ),
        {"arguments": {"city": "Oslo"}, "result": {"sky": "snow"}},
    ),
    "openinference of several tool results": (
        _span(
            {
                "openinference.span.kind": "LLM",
                "llm.input_messages.0.message.role": "function",
                "llm.input_messages.0.function.0": '{"name": "t", "content": "snow", "call_id": "c1", "is_error": true}',
            }
        ),
        {
            "input": [
                {
                    "role": "tool",
                    "parts": [
                        {"type": "tool_call_response", "id": "c1", "response": "snow", "is_error": True}
                    ],
                }
            ]
        },
    ),
    "a request parameter beside what it came to": (
        _span(
            {
                "gen_ai.operation.name": "chat",
                "model": '"m-4"',
                "gen_ai.request.model": "m-4-2026-01-01",
                "gen_ai.response.model": "m-4-2026-01-01",
            }
        ),
        {"request_model": "m-4", "response_model": "m-4-2026-01-01"},
    ),
    "dspy calls printed by Python": (
        _span(
            {
                "openinference.span.kind": "LLM",
                "output.value": json.dumps(
                    [
                        {
                            "text": "Let me see.",
                            "tool_calls": [
                                """Call(function=F(arguments='{"city": "Oslo"}', name='get_weather'), id='c1')"""
                            ],
                        }
                    ]
                ),
            }
        ),
        {
            "output": [
                {"role": "assistant", "parts": [{"type": "text", "content": "Let me see."}, _CALL]},
            ]
        },
    ),
    "openinference completion": (
        _span(
            {
                "openinference.span.kind": "LLM",
                "llm.prompts.0.prompt.text": "Hi",
                "llm.choices.0.completion.text": "Ho",
            }
        ),
        {"input": [_text("user", "Hi")], "output": [_text("assistant", "Ho")]},
    ),
    "openinference function call": (
        _span(
            {
                "openinference.span.kind": "LLM",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.function_call_name": "get_weather",
                "llm.output_messages.0.message.function_call_arguments_json": '{"city": "Oslo"}',
            }
        ),
        {
            "output": [
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "name": "get_weather", "arguments": {"city": "Oslo"}}],
                }
            ]
        },
    ),
    "openllmetry before the conventions": (
        _span(
            {
                "llm.request.type": "chat",
                "gen_ai.system": "Cohere",
                "gen_ai.request.model": "m",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Weather?",
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.tool_calls.0.id": "c1",
                "gen_ai.completion.0.tool_calls.0.name": "get_weather",
                "gen_ai.completion.0.tool_calls.0.arguments": '{"city": "Oslo"}',
                "llm.request.functions.0.name": "get_weather",
                "llm.request.functions.0.parameters": '{"type": "object"}',
                "gen_ai.usage.prompt_tokens": 7,
                "gen_ai.usage.completion_tokens": 2,
            }
        ),
        {
            "operation": "inference",
            "input": [_text("user", "Weather?")],
            "output": [_ASKS],
            "tool_definitions": [{"name": "get_weather", "parameters": '{"type": "object"}'}],
            "tokens": (7, 2),
        },
    ),
    "vercel tool that failed": (
        _span(
            {
                "ai.operationId": "ai.generateText.doGenerate",
                "ai.prompt.messages": json.dumps(
                    [
                        {
                            "role": "tool",
                            "content": [
                                {
                                    "type": "tool-result",
                                    "toolCallId": "c1",
                                    "toolName": "get_weather",
                                    "output": {"type": "error-text", "value": "no"},
                                }
                            ],
                        }
                    ]
                ),
            }
        ),
        {
            "input": [
                {
                    "role": "tool",
                    "parts": [{"type": "tool_call_response", "id": "c1", "response": "no", "is_error": True}],
                }
            ]
        },
    ),
    "a model that the instrumentation does not know": (
        _span(
            {"gen_ai.operation.name": "chat", "gen_ai.request.model": "unknown", "llm.model_name": "m-1"},
        ),
        {"request_model": "m-1"},
    ),
    "what was taken out": (
        _span(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.call.arguments": "<REDACTED>",
                "gen_ai.tool.call.result": "__REDACTED__",
            }
        ),
        {"has_arguments": False, "has_result": False},
    ),
    "an agent that is only made": (_span({"gen_ai.operation.name": "create_agent"}), {"operation": "other"}),
    "a type of something else": (
        _span({"gen_ai.output.type": "tool", "db.type": "model", "content.type": "agent"}),
        {"operation": "other"},
    ),
}


def _read(span: Span) -> Reading:
    (reading,) = read_spans([span], Problems())
    return reading


@pytest.mark.parametrize("form", _FORMS)
def test_the_form_is_read(form: str) -> None:
    span, wanted = _FORMS[form]
    reading = _read(span)
    found = {name: getattr(reading, name) for name in wanted}
    if "tokens" in wanted:
        found["tokens"] = (reading.tokens.input, reading.tokens.output)
    assert found == wanted


def _chat(given: list[dict[str, object]], answer: list[dict[str, object]], **others: Any) -> Span:
    return _span(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(given),
            **({"gen_ai.output.messages": json.dumps(answer)} if answer else {}),
        },
        **others,
    )


_QUESTION = _text("user", "Weather?")
_RESULT: dict[str, object] = {
    "role": "tool",
    "parts": [{"type": "tool_call_response", "id": "c1", "response": {"sky": "snow"}}],
}


def test_an_answer_left_out_of_the_next_prompt_is_put_back() -> None:
    run = read_run("r", [_chat([_QUESTION], [_ASKS]), _chat([_QUESTION, _RESULT], [_text("assistant", "S")])])
    assert [call.history for call in run.calls.models] == ["full", "rebuilt"]
    assert run.calls.models[1].input == [_QUESTION, _ASKS, _RESULT]


def test_an_answer_repeated_with_another_id_is_the_same_answer() -> None:
    renamed: dict[str, object] = {"role": "assistant", "parts": [{**_CALL, "id": "item-1"}]}
    run = read_run("r", [_chat([_QUESTION], [_ASKS]), _chat([_QUESTION, renamed, _RESULT], [])])
    assert run.calls.models[1].input == [_QUESTION, _ASKS, _RESULT]


def test_an_answer_that_only_the_next_prompt_tells_is_the_calls_own() -> None:
    tool = _span({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather"})
    first = _chat([_QUESTION], [], started_at=1, ended_at=2)
    run = read_run("r", [first, tool, _chat([_QUESTION, _ASKS, _RESULT], [_text("assistant", "Snow.")])])
    assert run.calls.models[0].reading.output == [_ASKS]
    (call,) = run.calls.tools
    assert (call.call_id, call.arguments) == ("c1", {"city": "Oslo"})


@pytest.mark.parametrize("name", ["get_weather", "mail-get_weather", "mail.get_weather", "mail__get_weather"])
def test_a_tool_has_the_name_that_the_model_knows(name: str) -> None:
    tool = _span({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name})
    run = read_run("r", [_chat([_QUESTION], [_ASKS], started_at=1, ended_at=2), tool])
    assert [(call.name, call.call_id) for call in run.calls.tools] == [("get_weather", "c1")]


def test_a_tool_inside_the_same_tool_is_one_execution() -> None:
    outer = _span(
        {"openinference.span.kind": "TOOL", "tool.name": "get_weather", "input.value": '{"city": "Oslo"}'}
    )
    inner = _span(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "mcp.get_weather",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.result": '{"sky": "snow"}',
        },
        parent_span_id=outer.span_id,
    )
    other = _span(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.arguments": '{"city": "Bergen"}',
        },
        parent_span_id=outer.span_id,
    )
    run = read_run("r", [outer, inner, other])
    assert [(call.call_id, call.arguments, call.result) for call in run.calls.tools] == [
        ("c1", {"city": "Oslo"}, {"sky": "snow"}),
        (None, {"city": "Bergen"}, None),
    ]


def test_a_result_that_says_it_failed_is_an_error() -> None:
    failed: dict[str, object] = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}],
    }
    run = read_run("r", [_chat([_QUESTION], [_ASKS]), _chat([_QUESTION, _ASKS, failed], [])])
    assert [(call.status, call.result) for call in run.calls.tools] == [("error", "no")]


def _told(messages: list[object], given: object) -> Run:
    root = _span(
        {
            "openinference.span.kind": "CHAIN",
            "input.value": json.dumps({"data": {"agent": given}}),
            "output.value": json.dumps({"agent": {"messages": messages}}),
        }
    )
    agent = _span(
        {
            "openinference.span.kind": "CHAIN",
            "input.value": json.dumps(given),
            "output.value": json.dumps({"messages": messages}),
        },
        parent_span_id=root.span_id,
        started_at=root.started_at + 1,
        ended_at=root.started_at + 10**8,
    )
    return read_run("r", [root, agent])


def test_a_transcript_tells_the_model_calls_that_have_no_spans() -> None:
    meta = "{'model': 'm-1', 'usage': {'prompt_tokens': 9, 'completion_tokens': 2}}"
    run = _told(
        [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": None, "tool_calls": [_CHAT]},
            {"role": "tool", "tool_call_id": "c1", "content": '{"sky": "snow"}'},
            f"ChatMessage(_role=<R.A: 'assistant'>, _content=[TextContent(text='Snow.')], _meta={meta})",
        ],
        {"messages": [{"role": "user", "content": "Weather?"}]},
    )
    first, second = run.calls.models
    assert first.reading.system == [{"type": "text", "content": "Be brief"}]
    assert (first.input, first.reading.output) == ([_QUESTION], [_ASKS])
    assert second.input == [_QUESTION, _ASKS, _RESULT]
    assert second.reading.response_model == "m-1"
    assert (second.reading.tokens.input, second.reading.tokens.output) == (9, 2)
    assert [(call.name, call.call_id, call.result) for call in run.calls.tools] == [
        ("get_weather", "c1", {"sky": "snow"})
    ]
    assert (run.input, run.output) == ("Weather?", "Snow.")
    assert [step.kind for step in run.steps] == ["model", "model"]


def test_answers_of_earlier_turns_are_no_calls_of_this_run() -> None:
    earlier: list[object] = [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Ho"},
    ]
    now: list[object] = [{"role": "user", "content": "And now?"}, {"role": "assistant", "content": "Ha"}]
    run = _told([*earlier, *now], {"messages": [*earlier, now[0]]})
    assert [call.reading.output for call in run.calls.models] == [[_text("assistant", "Ha")]]
    assert len(run.calls.models[0].input) == 3


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": "Ho"}],
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}],
        [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Hi"}],
    ],
    ids=["an answer alone", "an answer that anything may have given", "no answer"],
)
def test_what_does_not_show_a_model_is_no_transcript(messages: list[object]) -> None:
    assert _told(messages, {"query": "Hi"}).calls.models == []


def test_a_crews_task_is_what_it_was_asked() -> None:
    span = _span(
        {
            "openinference.span.kind": "CHAIN",
            "crew_tasks": '[{"description": "Find the weather", "expected_output": "a line"}]',
        },
        scope="openinference.instrumentation.crewai",
    )
    assert read_run("r", [span]).input == "Find the weather"


def _autogen(message: object, recipient: str = "RoundRobinGroupChatManager") -> Span:
    return _span(
        {
            "messaging.operation": "process",
            "recipient_agent_class": recipient,
            "message": json.dumps(message),
        },
        scope="autogen SingleThreadedAgentRuntime",
    )


def test_autogens_messages_tell_what_models_said() -> None:
    task = {"messages": [{"source": "user", "content": "Weather?", "type": "TextMessage"}]}
    asks = {
        "source": "orla",
        "models_usage": {"prompt_tokens": 9, "completion_tokens": 2},
        "content": [{"id": "c1", "name": "get_weather", "arguments": '{"city": "Oslo"}'}],
    }
    done = {
        "source": "orla",
        "models_usage": None,
        "content": [{"call_id": "c1", "name": "get_weather", "content": "snow", "is_error": False}],
    }
    says = {
        "source": "orla",
        "models_usage": {"prompt_tokens": 12, "completion_tokens": 3},
        "content": "Snow.",
    }
    spans = [
        _autogen(task),
        _autogen(task, "ChatAgentContainer"),
        _autogen({"message": asks}),
        _span(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "get_weather",
                "gen_ai.tool.call.id": "c1",
            },
            scope="autogen-core",
        ),
        _autogen({"message": done}),
        _autogen({"message": says}),
        _autogen({"response": {"chat_message": says, "inner_messages": [asks, done]}}),
    ]
    run = read_run("r", spans)
    assert [(call.reading.agent_name, call.reading.tokens.input) for call in run.calls.models] == [
        ("orla", 9),
        ("orla", 12),
    ]
    assert [(call.arguments, call.result, call.status) for call in run.calls.tools] == [
        ({"city": "Oslo"}, "snow", "ok")
    ]
    assert (run.input, run.output) == ("Weather?", "Snow.")


def test_spans_of_model_calls_count_and_not_what_is_told_of_them() -> None:
    says = {"source": "orla", "models_usage": {"prompt_tokens": 12, "completion_tokens": 3}, "content": "S"}
    run = read_run("r", [_chat([_QUESTION], [_text("assistant", "S")]), _autogen({"message": says})])
    assert len(run.calls.models) == 1
    assert run.calls.models[0].reading.input == [_QUESTION]
