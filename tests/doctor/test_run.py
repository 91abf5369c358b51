"""`retrospan doctor --run`: what recorded instrumentations leave out, and the switch that turns it on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_collector import Served
from fix_recordings import Recording
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrospan.ingest.interpret.dialects import DIALECTS
from retrospan.ingest.interpret.dialects.switches import switch_for

CONTENT = (
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.call.result",
    "gen_ai.tool.call.arguments", "gen_ai.prompt", "gen_ai.completion", "llm.input_messages", "llm.output_messages",
    "llm.prompts", "input.", "output.", "traceloop.entity.input", "traceloop.entity.output", "ai.prompt", "ai.response.text",
    "ai.response.toolCalls", "ai.toolCall.args", "ai.toolCall.result", "pydantic_ai.all_messages", "final_result",
    "all_messages_events", "tool_arguments", "tool_response", "gcp.vertex.agent.", "logfire.",
)  # fmt: skip
WELL = ("langgraph-openinference/normal", "pydantic-ai/normal", "google-adk/normal")
LEFT_OUT = {
    "genai-openai.span_only/normal": "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only",
    "openai-v2.span_only/normal": "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and",
    "pydantic-ai.v2/normal": "include_content=True",
    "google-adk.v1/normal": "CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT",
    "agent-framework/normal": "enable_sensitive_data=True",
    "openai-agents/normal": "OPENINFERENCE_HIDE_INPUTS",
    "llama-index/normal": "OPENINFERENCE_HIDE_INPUTS",
    "vercel-ai/normal": "recordInputs: true",
}


def without(requests: tuple[bytes, ...], leave_out: Callable[[Any], None]) -> list[bytes]:
    """The requests with each span changed, as another set-up of the same program sends them."""
    changed: list[bytes] = []
    for body in requests:
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    leave_out(span)
        changed.append(request.SerializeToString())
    return changed


def content(span: Any) -> None:
    kept = [attribute for attribute in span.attributes if not attribute.key.startswith(CONTENT)]
    del span.attributes[:], span.events[:]
    span.attributes.extend(kept)


def run_of(recording: Recording) -> str:
    """The trace that most of its spans are in."""
    traces = [
        span.trace_id.hex()
        for body in recording.traces
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    return max(sorted(set(traces)), key=traces.count)


@pytest.fixture(scope="module")
def told(
    tmp_path_factory: pytest.TempPathFactory, recordings: dict[str, Recording]
) -> Iterator[Callable[[str], dict[str, dict[str, str]]]]:
    """The findings about the run of a recording, by check; those of LEFT_OUT were sent without content."""
    place: Path = tmp_path_factory.mktemp("doctor")
    served = Served(place / "data", place / "stderr.txt")
    try:
        for name in WELL:
            served.send(recordings[name].traces, recordings[name].logs)
        for name in LEFT_OUT:
            served.send(without(tuple(recordings[name].traces), content))
        served.send(recordings["langgraph-openinference/crash"].traces)
        served.wait_idle()

        def tell(name: str) -> dict[str, dict[str, str]]:
            found = served.run("doctor", "--run", run_of(recordings[name]), "--json")
            return {finding["check"]: finding for finding in map(json.loads, found.splitlines())}

        yield tell
    finally:
        served.kill()


@pytest.mark.long
@pytest.mark.parametrize("name", WELL)
def test_what_is_sent_is_not_missed(name: str, told: Callable[[str], dict[str, dict[str, str]]]) -> None:
    found = told(name)
    assert list(found) == ["spans", "messages", "tokens", "tools", "conversation", "state", "steps"]
    for check in ("spans", "messages", "tokens", "tools", "conversation"):
        assert (found[check]["result"], found[check]["todo"]) == ("ok", ""), found[check]


@pytest.mark.long
@pytest.mark.parametrize("name", LEFT_OUT)
def test_content_that_is_switched_off_is_missed_by_the_switch_of_its_instrumentation(
    name: str, told: Callable[[str], dict[str, dict[str, str]]]
) -> None:
    found = told(name)["messages"]
    assert found["result"] == "warning" and "without what was asked" in found["said"], found
    assert LEFT_OUT[name] in found["todo"]


@pytest.mark.long
def test_the_state_of_a_graph_is_there_and_of_a_loop_is_not(
    told: Callable[[str], dict[str, dict[str, str]]],
) -> None:
    graph, loop = told("langgraph-openinference/normal"), told("pydantic-ai/normal")
    assert (graph["state"]["result"], graph["steps"]["result"]) == ("ok", "ok")
    assert "retrospan.state.before" in loop["state"]["todo"]
    assert "retrospan.step.index" in loop["steps"]["todo"]


def test_missing_spans_are_reported(told: Callable[[str], dict[str, dict[str, str]]]) -> None:
    found = told("langgraph-openinference/crash")["spans"]
    assert found["result"] == "warning" and "never arrived" in found["said"] and found["todo"]


def test_a_dialects_own_switch_comes_before_what_anybody_can_do() -> None:
    assert "thread_id" in switch_for("conversation", [("openinference.langchain", "x")])
    assert "using_session" in switch_for("conversation", [("openinference", "x")])
    assert "session_id" in switch_for("conversation", [("vercel_ai", "ai")])
    assert "gen_ai.conversation.id" in switch_for(
        "conversation", [("", "airline.booking"), ("genai", "mine")]
    )
    assert "enable_sensitive_data" in switch_for("results", [("genai", "mine"), ("genai", "agent_framework")])
    assert switch_for("tokens", []).startswith("set gen_ai.usage.input_tokens")


def test_a_switch_is_one_line_of_plain_text() -> None:
    for dialect in DIALECTS:
        for switch in dialect.switches:
            assert switch.how == switch.how.strip() and "\n" not in switch.how
