"""What agents on the command line did, that send log records and no spans: what the model server answered and the tools did."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from spans import read_runs, rows_of_spans, spans_of_requests
from told_scenes import SCENES, sent_by

from retrospan.ingest.interpret.messages.message import parts_of, text_of
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.otlp.prompt_traces import with_traces

ASKED = "Please run the little job plum-2207 and tell me what it says."
ANSWER = "The job says: done-9943."


@dataclass(frozen=True)
class Expected:
    """One run: how it ended, its steps as `kind:status` or `kind:name` where a tool was not executed, its tokens."""

    outcome: str
    steps: str
    tokens: tuple[int | None, int | None]
    asked: str | None = None
    answer: str | None = None


TWICE = (3535, 58)
EXPECTED = {
    "claude-code.normal": [Expected("ok", "model tool model", TWICE, ASKED, ANSWER)],
    "claude-code.tool_error": [Expected("ok", "model tool:error model", TWICE)],
    "claude-code.llm_error": [Expected("error", "model:error", (None, None))],
    "claude-code.denied": [Expected("ok", "model tool:not_executed model", TWICE, ASKED, ANSWER)],
    "claude-code.two_tools": [Expected("ok", "model tool tool model", TWICE)],
    "claude-code.subagent": [
        Expected("ok", "model tool model model tool model", (4168, 97)),
        Expected("ok", "model", (1822, 21)),
    ],
    "claude-code.two_prompts": [
        Expected("ok", "model tool model", TWICE, "First question plum-2207.", "First answer 1111."),
        Expected("ok", "model tool model", TWICE, "Second question pear-3308.", "Second answer 2222."),
    ],
    "codex.normal": [Expected("ok", "model tool model", (2511, 58), ASKED)],
    "codex.retry": [Expected("ok", "model:error model tool model", (2511, 58), ASKED)],
    "codex.llm_error": [Expected("error", " ".join(["model:error"] * 8), (None, None))],
    "codex.tool_error": [Expected("ok", "model tool model", (2511, 58), ASKED)],
    "codex.cut_off": [Expected("incomplete", "model tool", (1201, 37), ASKED)],
}


def requests(scene: str) -> list[bytes]:
    return [with_traces(body) for body in sent_by(scene)]


def runs(scene: str) -> list[InterpretedRun]:
    return read_runs(spans_of_requests((), requests(scene)))


def tokens(run: InterpretedRun) -> tuple[int | None, int | None]:
    [rows] = rows_of_spans([span.sent for span in run.tree.spans])
    return rows.runs[0].input_tokens, rows.runs[0].output_tokens


def steps(run: InterpretedRun) -> str:
    return " ".join(step.kind if step.status == "ok" else f"{step.kind}:{step.status}" for step in run.steps)


def test_there_is_a_truth_for_each_file() -> None:
    assert sorted(EXPECTED) == SCENES


@pytest.mark.parametrize("scene", SCENES)
def test_what_was_done_is_what_was_told(scene: str) -> None:
    found = runs(scene)
    assert [
        Expected(run.outcome, steps(run), tokens(run), run.input, run.output) for run in found
    ] == EXPECTED[scene]


@given(some.randoms(use_true_random=False), some.sampled_from(SCENES))
@settings(max_examples=60, deadline=None)
def test_order_and_splitting_make_no_difference(chance: random.Random, scene: str) -> None:
    split: list[bytes] = []
    for body in requests(scene):
        whole = ExportLogsServiceRequest.FromString(body)
        for group in whole.resource_logs:
            for scope in group.scope_logs:
                for record in scope.log_records:
                    one = ExportLogsServiceRequest()
                    alone = one.resource_logs.add(resource=group.resource).scope_logs.add(scope=scope.scope)
                    alone.log_records.append(record)
                    split.append(one.SerializeToString())
    chance.shuffle(split)
    assert _rows(split) == _rows(requests(scene))


def _rows(sent: Sequence[bytes]) -> list[Rows]:
    spans = spans_of_requests((), sent)
    for span in spans:
        span.sequence = span.heard_sequence = span.arrived_at = span.heard_at = 0
    return rows_of_spans(spans)


def without(scene: str, *keys: str) -> list[bytes]:
    """The requests of a scene whose records lack some attributes, as those of earlier releases of the agent do."""
    found = []
    for body in sent_by(scene):
        whole = ExportLogsServiceRequest.FromString(body)
        for group in whole.resource_logs:
            for scope in group.scope_logs:
                for record in scope.log_records:
                    left = [pair for pair in record.attributes if pair.key not in keys]
                    del record.attributes[:]
                    record.attributes.extend(left)
        found.append(with_traces(whole.SerializeToString()))
    return found


def asked_by(run: InterpretedRun) -> list[list[str]]:
    """The ids of the tool calls that each request's answer asks for."""
    return [
        [part.get("id", "") for message in call.span.output for part in parts_of(message, "tool_call")]
        for call in run.calls.models
    ]


def test_what_was_asked_is_a_message_though_no_prompt_tells_it() -> None:
    [rows] = rows_of_spans(spans_of_requests((), requests("claude-code.normal")))
    [asked] = [value for value in rows.values if ASKED in value.json]
    assert (asked.kind, asked.role, asked.first_call) == ("message", "user", 0)


@pytest.mark.parametrize("scene", ["claude-code.two_tools", "claude-code.denied", "claude-code.tool_error"])
def test_without_ids_of_requests_a_tool_is_of_the_answer_that_was_coming(scene: str) -> None:
    [whole] = runs(scene)
    [earlier] = read_runs(spans_of_requests((), without(scene, "request_id")))
    assert steps(earlier) == steps(whole)
    assert asked_by(earlier) == asked_by(whole) and any(asked_by(whole))


def test_records_without_their_prompt_make_no_run() -> None:
    *_, last = sent_by("claude-code.normal")
    assert read_runs(spans_of_requests((), [with_traces(last)])) == []


def test_an_agent_that_sends_spans_in_any_case_makes_no_second_run() -> None:
    renamed = [ExportLogsServiceRequest.FromString(body) for body in sent_by("codex.normal")]
    for request in renamed:
        for group in request.resource_logs:
            for scope in group.scope_logs:
                for record in scope.log_records:
                    for pair in record.attributes:
                        if pair.key == "event.name":
                            pair.value.string_value = pair.value.string_value.replace("codex", "gemini_cli")
    spans = spans_of_requests((), [with_traces(request.SerializeToString()) for request in renamed])
    assert spans == []


def with_bodies(scene: str) -> list[bytes]:
    """The requests of a scene, with the bodies of the model's API beside each of its requests, as a switch adds them."""
    user = {"role": "user", "content": f"<env>\n{ASKED}"}
    found, number = [], 0
    for body in sent_by(scene):
        whole = ExportLogsServiceRequest.FromString(body)
        for group in whole.resource_logs:
            for scope in group.scope_logs:
                for record in [*scope.log_records]:
                    said = {pair.key: pair.value for pair in record.attributes}
                    if said["event.name"].string_value != "api_request":
                        continue
                    number += 1
                    model, request_id = said["model"].string_value, said["request_id"].string_value
                    answer = [{"type": "text", "text": f"whole answer {number}"}]
                    usage = {"input_tokens": 1, "output_tokens": said["output_tokens"].int_value}
                    began = record.time_unix_nano - (said["duration_ms"].int_value + 4) * 10**6
                    told: tuple[tuple[str, int, dict[str, object], dict[str, str]], ...] = (
                        ("api_request_body", began, {"model": model, "messages": [user]}, {}),
                        (
                            "api_response_body",
                            record.time_unix_nano,
                            {
                                "type": "message",
                                "role": "assistant",
                                "model": model,
                                "content": answer,
                                "usage": usage,
                            },
                            {"request_id": request_id},
                        ),
                    )
                    for name, at, content, more in told:
                        made = scope.log_records.add(time_unix_nano=at, observed_time_unix_nano=at)
                        texts = {
                            **{key: said[key].string_value for key in ("session.id", "prompt.id", "model")},
                            "event.name": name,
                            "body": json.dumps(content),
                            "request_body_id": f"body-id-{number}",
                            **more,
                        }
                        for key, text in texts.items():
                            made.attributes.add(key=key).value.string_value = text
        found.append(with_traces(whole.SerializeToString()))
    return found


def test_bodies_tell_what_each_request_was_given_and_answered() -> None:
    [run] = read_runs(spans_of_requests((), with_bodies("claude-code.normal")))
    first, second = run.calls.models
    assert [text_of(message) for message in first.input] == [f"<env>\n{ASKED}"]
    assert [text_of(message) for message in first.span.output] == ["whole answer 1"]
    assert [text_of(message) for message in second.span.output] == ["whole answer 2"]
    assert (run.outcome, steps(run), tokens(run)) == ("ok", "model tool model", TWICE)
