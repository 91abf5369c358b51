"""Runs of instrumentations that no recording here holds: what only the whole run can tell."""

from __future__ import annotations

import json

import pytest
from made_spans import ASKS, CALL, CHAT, QUESTION, RESULT, chat_span, make_span, text
from spans import read_run

from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.interpret.spans.span import Span


def test_an_answer_left_out_of_the_next_prompt_is_put_back() -> None:
    run = read_run(
        "r", [chat_span([QUESTION], [ASKS]), chat_span([QUESTION, RESULT], [text("assistant", "S")])]
    )
    assert [call.history for call in run.calls.models] == ["full", "rebuilt"]
    assert run.calls.models[1].input == [QUESTION, ASKS, RESULT]


def test_an_answer_repeated_with_another_id_is_the_same_answer() -> None:
    renamed: dict[str, object] = {"role": "assistant", "parts": [{**CALL, "id": "item-1"}]}
    run = read_run("r", [chat_span([QUESTION], [ASKS]), chat_span([QUESTION, renamed, RESULT], [])])
    assert run.calls.models[1].input == [QUESTION, ASKS, RESULT]


def test_an_answer_that_only_the_next_prompt_tells_is_the_calls_own() -> None:
    tool = make_span({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather"})
    first = chat_span([QUESTION], [], started_at=1, ended_at=2)
    run = read_run("r", [first, tool, chat_span([QUESTION, ASKS, RESULT], [text("assistant", "Snow.")])])
    assert run.calls.models[0].span.output == [ASKS]
    (call,) = run.calls.tools
    assert (call.call_id, call.arguments) == ("c1", {"city": "Oslo"})


@pytest.mark.parametrize("name", ["get_weather", "mail-get_weather", "mail.get_weather", "mail__get_weather"])
def test_a_tool_has_the_name_that_the_model_knows(name: str) -> None:
    tool = make_span({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name})
    run = read_run("r", [chat_span([QUESTION], [ASKS], started_at=1, ended_at=2), tool])
    assert [(call.name, call.call_id) for call in run.calls.tools] == [("get_weather", "c1")]


def test_a_tool_inside_the_same_tool_is_one_execution() -> None:
    outer = make_span(
        {"openinference.span.kind": "TOOL", "tool.name": "get_weather", "input.value": '{"city": "Oslo"}'}
    )
    inner = make_span(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "mcp.get_weather",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.result": '{"sky": "snow"}',
        },
        parent_span_id=outer.span_id,
    )
    other = make_span(
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
    run = read_run("r", [chat_span([QUESTION], [ASKS]), chat_span([QUESTION, ASKS, failed], [])])
    assert [(call.status, call.result) for call in run.calls.tools] == [("error", "no")]


def _told(messages: list[object], given: object) -> InterpretedRun:
    root = make_span(
        {
            "openinference.span.kind": "CHAIN",
            "input.value": json.dumps({"data": {"agent": given}}),
            "output.value": json.dumps({"agent": {"messages": messages}}),
        }
    )
    agent = make_span(
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
            {"role": "assistant", "content": None, "tool_calls": [CHAT]},
            {"role": "tool", "tool_call_id": "c1", "content": '{"sky": "snow"}'},
            f"ChatMessage(_role=<R.A: 'assistant'>, _content=[TextContent(text='Snow.')], _meta={meta})",
        ],
        {"messages": [{"role": "user", "content": "Weather?"}]},
    )
    first, second = run.calls.models
    assert first.span.system == [{"type": "text", "content": "Be brief"}]
    assert (first.input, first.span.output) == ([QUESTION], [ASKS])
    assert second.input == [QUESTION, ASKS, RESULT]
    assert second.span.response_model == "m-1"
    assert (second.span.tokens.input, second.span.tokens.output) == (9, 2)
    assert [(call.name, call.call_id, call.result) for call in run.calls.tools] == [
        ("get_weather", "c1", {"sky": "snow"})
    ]
    assert (run.input, run.output) == ("Weather?", "Snow.")
    assert [step.kind for step in run.steps] == ["model", "model"]


def test_answers_of_earlier_turns_are_not_calls_of_this_run() -> None:
    earlier: list[object] = [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Ho"},
    ]
    now: list[object] = [{"role": "user", "content": "And now?"}, {"role": "assistant", "content": "Ha"}]
    run = _told([*earlier, *now], {"messages": [*earlier, now[0]]})
    assert [call.span.output for call in run.calls.models] == [[text("assistant", "Ha")]]
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
def test_what_does_not_show_a_model_is_not_a_transcript(messages: list[object]) -> None:
    assert _told(messages, {"query": "Hi"}).calls.models == []


def _agent_with_tool(returned: str, **tool: object) -> InterpretedRun:
    """Return the run of an agent whose model calls have no spans; both are functions that a decorator records."""
    agent = make_span(
        {
            "traceloop.span.kind": "agent",
            "traceloop.entity.input": '{"args": ["Weather?"], "kwargs": {}}',
            "traceloop.entity.output": returned,
        }
    )
    lookup = make_span(
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "get_weather",
            "traceloop.entity.input": '{"args": [], "kwargs": {"city": "Oslo"}}',
            "traceloop.entity.output": '"snow"',
            **tool,
        },
        parent_span_id=agent.span_id,
        started_at=agent.started_at + 1,
        ended_at=agent.started_at + 10**8,
    )
    return read_run("r", [agent, lookup])


def test_what_an_agent_without_models_returns_is_the_last_answer_of_its_model() -> None:
    run = _agent_with_tool(json.dumps("Snow at -3 °C."))
    (call,) = run.calls.models
    assert (call.input, call.span.output) == ([], [text("assistant", "Snow at -3 °C.")])
    assert (call.span.request_model, call.span.response_model, call.span.tokens.input) == (None, None, None)
    assert (run.input, run.output) == ("Weather?", "Snow at -3 °C.")
    assert [step.kind for step in run.steps] == ["tool", "model"]
    assert [tool.result for tool in run.calls.tools] == ["snow"]
    assert [(problem.field, problem.reason) for problem in run.problems] == [
        (
            "model_calls",
            "an agent executed tools and answered, and no model call is read that asked for them",
        )
    ]


@pytest.mark.parametrize(
    ("returned", "tool"),
    [
        ('"snow"', {}),
        ('{"sky": "snow"}', {}),
        ("\"Answer(text='Snow.'\"", {}),
        ("\"{'description': 'Snow.'\"", {}),
        ('"Snow."', {"traceloop.span.kind": "task"}),
        ('"Snow."', {"traceloop.span.kind": "agent"}),
    ],
    ids=["what a tool returned", "an object", "half a printed one", "half a dict", "no tool", "two agents"],
)
def test_what_may_not_be_a_models_answer_is_none(returned: str, tool: dict[str, object]) -> None:
    assert _agent_with_tool(returned, **tool).calls.models == []


def test_a_crews_task_is_what_it_was_asked() -> None:
    span = make_span(
        {
            "openinference.span.kind": "CHAIN",
            "crew_tasks": '[{"description": "Find the weather", "expected_output": "a line"}]',
        },
        scope="openinference.instrumentation.crewai",
    )
    assert read_run("r", [span]).input == "Find the weather"


@pytest.mark.parametrize(("requests", "tokens"), [(2, (9, 4)), (3, (None, None))])
def test_a_crews_count_is_the_runs_where_it_counts_as_many_requests_as_answers(
    requests: int, tokens: tuple[int | None, int | None]
) -> None:
    used = {"prompt_tokens": 9, "completion_tokens": 4, "successful_requests": requests}
    said = [{"role": role, "content": role} for role in ("user", "assistant", "tool", "assistant")]
    span = make_span(
        {
            "openinference.span.kind": "CHAIN",
            "output.value": json.dumps({"tasks_output": [{"messages": said}], "token_usage": used}),
        },
        scope="openinference.instrumentation.crewai",
    )
    (root,) = read_run("r", [span]).tree.spans
    assert (root.tokens.input, root.tokens.output) == tokens


@pytest.mark.parametrize(("node", "name"), [("orla", "orla"), ("8fdccbcee7938ffb", None)])
def test_an_agent_has_the_name_of_its_place_in_a_graph_but_no_id(node: str, name: str | None) -> None:
    span = make_span({"openinference.span.kind": "AGENT", "graph.node.id": node}, name="Agent.run")
    assert read_run("r", [span]).tree.spans[0].agent_name == name


@pytest.mark.parametrize(
    ("returned", "output"),
    [
        ({"answer": "Snow.", "thought": "Easy."}, "Snow."),
        ({"final_answer": "Snow."}, "Snow."),
        ({"answer": "Rain."}, "Thought: Easy.\nAnswer: Snow."),
        ({"status": "Snow."}, "Thought: Easy.\nAnswer: Snow."),
        ("Snow.", "Thought: Easy.\nAnswer: Snow."),
    ],
)
def test_the_output_is_what_the_root_took_out_of_the_last_text(returned: object, output: str) -> None:
    root = make_span({"openinference.span.kind": "CHAIN", "output.value": json.dumps(returned)}, started_at=1)
    last = chat_span([QUESTION], [text("assistant", "Thought: Easy.\nAnswer: Snow.")])
    last.parent_span_id = root.span_id
    assert read_run("r", [root, last]).output == output


def _autogen(message: object, recipient: str = "RoundRobinGroupChatManager") -> Span:
    return make_span(
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
        make_span(
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
    assert [(call.span.agent_name, call.span.tokens.input) for call in run.calls.models] == [
        ("orla", 9),
        ("orla", 12),
    ]
    assert [(call.arguments, call.result, call.status) for call in run.calls.tools] == [
        ({"city": "Oslo"}, "snow", "ok")
    ]
    assert (run.input, run.output) == ("Weather?", "Snow.")


def test_spans_of_model_calls_count_and_not_what_is_told_of_them() -> None:
    says = {"source": "orla", "models_usage": {"prompt_tokens": 12, "completion_tokens": 3}, "content": "S"}
    run = read_run("r", [chat_span([QUESTION], [text("assistant", "S")]), _autogen({"message": says})])
    assert len(run.calls.models) == 1
    assert run.calls.models[0].span.input == [QUESTION]
