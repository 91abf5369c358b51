"""The recording kit: its model server, its sink, and a take of a driver without a framework, from bytes to score."""

from __future__ import annotations

import dataclasses
import gzip
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import grpc
import pytest
from fix_recordings import Recording, read_recording
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from recordings.record import said
from recordings.record.environments import (
    DRIVERS,
    MavenEnvironment,
    NodeEnvironment,
    PythonEnvironment,
    environment,
)
from recordings.record.frameworks import FRAMEWORKS
from recordings.record.model_server import ModelServer
from recordings.record.scenarios import SCENARIOS
from recordings.record.score import scores
from recordings.record.sink import Sink
from recordings.record.takes import Take, keep, play_command

PLAIN = FRAMEWORKS["plain-http"]
TOOL = {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}}}
#: API → path, and a request with one tool.
APIS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"messages": [], "tools": [{"type": "function", "function": TOOL}]}),
    "responses": ("/v1/responses", {"input": "Hi", "tools": [{"type": "function", **TOOL}]}),
    "anthropic": ("/v1/messages", {"messages": [], "tools": [{"name": "get_weather", "input_schema": {}}]}),
    "gemini": ("/v1beta/models/m:generateContent", {"tools": [{"functionDeclarations": [TOOL]}]}),
}


def _post(url: str, body: bytes | Iterable[bytes], **headers: str) -> bytes:
    content_type = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(url, body, content_type)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return bytes(reply.read())


def _ask(url: str, request: dict[str, Any]) -> bytes:
    return _post(url, json.dumps(request).encode())


@pytest.mark.parametrize("api", APIS)
def test_each_api_says_what_the_script_orders_and_writes_it_down(api: str, tmp_path: Path) -> None:
    path, request = APIS[api]
    truth = tmp_path / "truth.jsonl"
    with ModelServer(SCENARIOS["multiturn"], truth, "m-1") as server:
        whole = [json.loads(_ask(server.url + path, request)) for _ in range(4)]
    assert [said.answered(answer) for answer in whole] == [
        ("", [("call_multiturn_0_0_0", "get_weather", {"city": "Oslo"})]),
        ("It is -3 °C and snowing in Oslo.", []),
        (
            "",
            [
                (
                    "call_multiturn_1_0_0",
                    "send_email",
                    {"to": "ops@example.com", "subject": "Weather", "body": "-3 °C and snow in Oslo."},
                )
            ],
        ),
        ("Done, I e-mailed ops@example.com.", []),
    ]
    lines = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    assert [line["response"] for line in lines] == whole
    assert {(line["api"], line["request"]["tools"]) for line in lines} == {
        (api, "(1 tool definitions left out)")
    }
    expected = SCENARIOS["multiturn"].steps
    assert [(line["turn"], line["step"]) for line in lines] == [(turn, step) for turn, step, _ in expected]
    assert [said.tokens_of(answer) for answer in whole] == [(100, 20), (150, 25), (600, 70), (650, 75)]


def _of_chat(events: list[dict[str, Any]]) -> str:
    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    calls = [call["function"]["arguments"] for delta in deltas for call in delta.get("tool_calls", ())]
    return "".join(delta.get("content") or "" for delta in deltas) + "".join(calls)


def _of_responses(events: list[dict[str, Any]]) -> str:
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return "".join(event["delta"] for event in events if event["type"].endswith(".delta"))


def _of_anthropic(events: list[dict[str, Any]]) -> str:
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    return "".join(delta.get("text") or delta["partial_json"] for delta in deltas)


def _of_gemini(events: list[dict[str, Any]]) -> str:
    parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]
    return "".join(part.get("text") or json.dumps(part["functionCall"]["args"]) for part in parts)


@pytest.mark.parametrize(
    ("api", "read"),
    [
        ("chat", _of_chat),
        ("responses", _of_responses),
        ("anthropic", _of_anthropic),
        ("gemini", _of_gemini),
    ],
)
def test_a_stream_says_the_same(
    api: str, read: Callable[[list[dict[str, Any]]], str], tmp_path: Path
) -> None:
    path, request = APIS[api]
    path = path.replace(":generate", ":streamGenerate")
    with ModelServer(SCENARIOS["normal"], tmp_path / "truth.jsonl", "m-1") as server:
        body = _ask(server.url + path, {**request, "stream": True}).decode()
    events = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith("data: ")]
    told = read([json.loads(event) for event in events if event != "[DONE]"])
    assert told == 'I will look up the refund policy first.{"query": "refund policy", "top_k": 2}'


def test_a_refusal_comes_again_when_the_client_tries_again(tmp_path: Path) -> None:
    truth, path = tmp_path / "truth.jsonl", APIS["chat"][0]
    with ModelServer(SCENARIOS["llm_error"], truth, "m-1") as server:
        _ask(server.url + path, {})
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError) as refused:
                _ask(server.url + path, {})
            assert refused.value.code == 400
            assert json.load(refused.value)["error"]["code"] == "context_length_exceeded"
    assert len(truth.read_text().splitlines()) == 3


def test_a_conversation_is_handed_over_by_the_tool_that_the_framework_offers(tmp_path: Path) -> None:
    schema = {"properties": {"agent_name": {"enum": ["orla"]}, "why": {}}, "required": ["agent_name"]}
    tool = {"type": "function", "function": {"name": "transfer_to_agent", "parameters": schema}}
    with ModelServer(SCENARIOS["handoff"], tmp_path / "truth.jsonl", "m-1") as server:
        whole = json.loads(_ask(server.url + APIS["chat"][0], {"tools": [tool]}))
    assert said.answered(whole) == (
        "",
        [("call_handoff_0_0_0", "transfer_to_agent", {"agent_name": "orla"})],
    )


def test_the_sink_keeps_requests_byte_for_byte() -> None:
    bodies = [b"x" * size for size in (1, 127, 128, 70_000)]
    method = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
    protobuf = {"Content-Type": "application/x-protobuf"}
    with Sink() as sink:
        for body in bodies:
            _post(f"{sink.http_url}/v1/traces", body, **protobuf)
            packed = gzip.compress(body)
            _post(f"{sink.http_url}/v1/traces", packed, **protobuf, **{"Content-Encoding": "gzip"})
            # What has no length is sent in chunks.
            _post(f"{sink.http_url}/v1/traces", iter((body[:1], body[1:])), **protobuf)
            with grpc.insecure_channel(sink.grpc_url.removeprefix("http://")) as channel:
                channel.unary_unary(method)(body, timeout=30)
        with pytest.raises(urllib.error.HTTPError) as refused:
            _post(f"{sink.http_url}/v1/traces", b"{}", **{"Content-Type": "text/plain"})
    assert sink.kept == {
        "traces": [body for body in bodies for _ in range(3)],
        "logs": bodies,
        "metrics": [],
    }
    assert refused.value.code == 415
    refused.value.close()


def test_the_sink_keeps_a_request_in_json_as_protobuf() -> None:
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "chat", "startTimeUnixNano": "1"}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    with Sink() as sink:
        _post(f"{sink.http_url}/v1/traces", body, **{"Content-Type": "application/json"})
    (kept,) = sink.kept["traces"]
    (found,) = ExportTraceServiceRequest.FromString(kept).resource_spans[0].scope_spans[0].spans
    assert (found.trace_id.hex(), found.span_id.hex(), found.name) == ("ab" * 16, "cd" * 8, "chat")


def test_every_framework_has_a_driver_and_the_environment_that_runs_it() -> None:
    missing = [name for name, each in FRAMEWORKS.items() if not (DRIVERS / each.driver).is_file()]
    assert not missing
    kinds = {
        "plain-http": PythonEnvironment,
        "genkit": NodeEnvironment,
        "spring-ai-langfuse": MavenEnvironment,
    }
    assert {name: type(environment(name, FRAMEWORKS[name], None)) for name in kinds} == kinds


@pytest.fixture(scope="module")
def take() -> Take:
    """A scenario with a failing tool, played by the driver that needs no framework."""
    command = [sys.executable, str(DRIVERS / PLAIN.driver)]
    taken = play_command(SCENARIOS["tool_error"], PLAIN, command, 120)
    assert taken.exit_code == 0, taken.said
    return taken


@pytest.fixture
def kept(take: Take, tmp_path: Path) -> Recording:
    """The same, written down and read again; twice, as the second take takes the place of the first."""
    for _ in range(2):
        keep(take, "plain-http", {"opentelemetry-sdk": "1"}, tmp_path)
    (entry,) = json.loads((tmp_path / "MANIFEST.json").read_text(encoding="utf-8"))["recordings"]
    return read_recording(tmp_path, entry)


def test_a_take_is_kept_as_it_was(take: Take, kept: Recording) -> None:
    assert kept.traces == tuple(take.requests["traces"])
    assert kept.truth == take.truth
    assert not kept.off_script
    tools = [line["tool"] for line in kept.truth if line["kind"] == "tool"]
    assert tools == kept.expected["tool_names_in_order"] == ["update_record", "update_record", "send_email"]
    assert [line["error"] for line in kept.truth if line["kind"] == "tool"] == [
        "record C-2077 is locked by another writer",
        None,
        None,
    ]


def test_every_fact_of_a_plain_run_comes_back_and_a_false_truth_does_not(kept: Recording) -> None:
    lied: list[dict[str, Any]] = json.loads(json.dumps(kept.truth))
    tools = [line for line in lied if line["kind"] == "tool"]
    # Values that the bytes hold, in places where they are not true.
    tools[1]["result"], tools[2]["args"] = tools[2]["result"], {"to": "bo@example.com"}
    lied[0]["response"]["usage"]["prompt_tokens"] = 150
    lied[0]["request"]["messages"][1]["content"] = "C-2077 now ships to Bergen."
    false = dataclasses.replace(kept, name="plain-http.false/tool_error", truth=lied)
    found = scores([kept, false])
    facts = found[kept.name]
    assert len(facts) > 30
    assert [fact for fact in facts if not fact.holds] == []
    assert {fact.name for fact in found[false.name] if not fact.holds} == {
        "input tokens",
        "message history 0",
        "tool arguments 2",
        "tool result 1",
    }
