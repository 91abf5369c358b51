"""R27: spans out of order, and after their run was read: the same answers as if they had come in order."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import otlp_requests as make
import pytest
from fix_collector import Served
from opentelemetry.proto.trace.v1.trace_pb2 import Span

RUNS, ROUNDS, LATE = 20, 3, 0.1
VIEWS = {
    "spans": "trace_id, span_id, parent_span_id, name, operation, run_id, attributes",
    "runs": "run_id, agent_name, outcome, incomplete_because, started_at, ended_at, steps, model_calls, tool_calls, "
    "errors, input_tokens, output_tokens",
    "steps": "run_id, step, step_kind, name, span_id, status",
    "model_calls": "run_id, ordinal, step, span_id, input_messages, output_messages, call_hash",
    "tool_calls": "run_id, ordinal, step, span_id, asked_by, tool_name, arguments, result, status",
    "provenance_edges": "subject, relation, object, evidence, run_id, step",
}


def run(number: int) -> list[Span]:
    """An agent's call with a model call and a tool call in each round, in the order in which they end."""
    trace, start = bytes([7]) * 15 + bytes([number + 1]), 1_790_000_000_000_000_000 + number * 10**10
    root = make.span("invoke_agent late", trace_id=trace, span_id=bytes([1]) * 8)
    root.attributes[0].value.string_value = "invoke_agent"
    root.attributes.add(key="gen_ai.agent.name").value.string_value = "late"
    root.start_time_unix_nano, root.end_time_unix_nano = start, start + 10**9
    spans: list[Span] = []
    said: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"type": "text", "content": f"question {number}"}]}
    ]
    for turn in range(ROUNDS):
        call = {"type": "tool_call", "id": f"c{turn}", "name": "add", "arguments": {"n": turn}}
        spans.append(
            child(root, "chat", "chat model", 2 * turn + 2, said, [{"role": "assistant", "parts": [call]}])
        )
        said = [*said, {"role": "assistant", "parts": [call]}]
        tool = child(root, "execute_tool", "execute_tool add", 2 * turn + 3)
        for key, value in {
            "name": "add",
            "call.id": f"c{turn}",
            "call.arguments": f'{{"n":{turn}}}',
            "call.result": "1",
        }.items():
            tool.attributes.add(key=f"gen_ai.tool.{key}").value.string_value = value
        spans.append(tool)
        said = [
            *said,
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": f"c{turn}", "response": "1"}]},
        ]
    return [*spans, root]


def child(
    root: Span,
    operation: str,
    name: str,
    place: int,
    said: list[Any] | None = None,
    answer: list[Any] | None = None,
) -> Span:
    span = make.span(name, trace_id=root.trace_id, span_id=place.to_bytes(8, "big"))
    span.parent_span_id = root.span_id
    span.attributes[0].value.string_value = operation
    span.start_time_unix_nano = root.start_time_unix_nano + place * 10**7
    span.end_time_unix_nano = span.start_time_unix_nano + 10**6
    for key, messages in (("gen_ai.input.messages", said), ("gen_ai.output.messages", answer)):
        if messages is not None:
            span.attributes.add(key=key).value.string_value = json.dumps(messages)
    return span


def answers(directory: Path, *waves: list[Span]) -> dict[str, list[dict[str, Any]]]:
    """What the views say when these came one span a request, each wave after everything before it was read."""
    collector = Served(directory / "data", directory / "stderr.txt")
    try:
        for wave in waves:
            collector.send(traces=[make.traces(span).SerializeToString() for span in wave])
            collector.wait_idle()
        return {
            view: collector.rows(f"SELECT {columns} FROM {view} ORDER BY ALL")
            for view, columns in VIEWS.items()
        }
    finally:
        collector.kill()


@pytest.mark.soak
@pytest.mark.requirement("R27")
def test_out_of_order_and_late_spans_give_the_same_answers(tmp_path: Path) -> None:
    chance = random.Random(27)
    spans = [span for number in range(RUNS) for span in run(number)]
    mixed = list(spans)
    for place in chance.sample(range(len(mixed)), len(mixed) // 10):
        other = chance.randrange(len(mixed))
        mixed[place], mixed[other] = mixed[other], mixed[place]
    late = [span for span in mixed if chance.random() < LATE]
    assert any(span.parent_span_id for span in late) and any(not span.parent_span_id for span in late)
    early = [span for span in mixed if span not in late]
    (tmp_path / "in order").mkdir()
    (tmp_path / "mixed").mkdir()
    wanted = answers(tmp_path / "in order", spans)
    assert [len(wanted[view]) for view in ("spans", "runs", "model_calls")] == [
        len(spans),
        RUNS,
        RUNS * ROUNDS,
    ]
    found = answers(tmp_path / "mixed", early, late)
    for view in VIEWS:
        assert found[view] == wanted[view], view
