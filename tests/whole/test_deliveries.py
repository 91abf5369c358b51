"""The same spans through a whole collector, delivered in any way, give the same rows in every view."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from fix_collector import Served
from fix_recordings import load_recording, manifest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from rewritten import happened_again

VIEWS = (
    *("spans", "runs", "model_calls", "tool_calls", "messages", "steps", "provenance_edges", "loops"),
    *("retries", "context_use", "failures", "interpretation_problems"),
)
#: The one column that says when something was stored.
UNEQUAL = {"ingested_at"}
_DAY = 86_400_000_000_000

Delivery = list[tuple[str, bytes]]


def _examples(number: int) -> Iterator[tuple[Sequence[bytes], Sequence[bytes]]]:
    """Yield so many runs or conversations of each variant, each under ids and at a time of its own."""
    names = sorted(manifest())
    for variant in sorted({name.split("/")[0] for name in names}):
        own = [name for name in names if name.split("/")[0] == variant]
        for example in range(number):
            recording = load_recording(own[example % len(own)])
            # An odd salt for each round: no two rounds of one recording share an id.
            salt = 7 + 2 * (example // len(own))
            traces, logs, _ = happened_again(recording.traces, recording.logs, example * _DAY, salt)
            yield traces, logs


def _scattered(traces: Sequence[bytes], logs: Sequence[bytes], chance: random.Random) -> Delivery:
    """Return the same spans and log records in other requests: split, put together anew, half of it twice, mixed."""
    pieces = [("traces", body) for request in traces for body in _split_traces(request, chance)]
    pieces += [("logs", body) for request in logs for body in _split_logs(request, chance)]
    pieces += chance.sample(pieces, len(pieces) // 2)
    chance.shuffle(pieces)
    return pieces


def _split_traces(body: bytes, chance: random.Random) -> Iterator[bytes]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource.scope_spans:
            spans = list(scope.spans)
            chance.shuffle(spans)
            while spans:
                request = ExportTraceServiceRequest()
                group = request.resource_spans.add(resource=resource.resource, schema_url=resource.schema_url)
                part = group.scope_spans.add(scope=scope.scope, schema_url=scope.schema_url)
                size = chance.randint(1, 5)
                part.spans.extend(spans[:size])
                del spans[:size]
                yield request.SerializeToString()


def _split_logs(body: bytes, chance: random.Random) -> Iterator[bytes]:
    for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
        for scope in resource.scope_logs:
            records = list(scope.log_records)
            chance.shuffle(records)
            while records:
                request = ExportLogsServiceRequest()
                group = request.resource_logs.add(resource=resource.resource, schema_url=resource.schema_url)
                part = group.scope_logs.add(scope=scope.scope, schema_url=scope.schema_url)
                size = chance.randint(1, 5)
                part.log_records.extend(records[:size])
                del records[:size]
                yield request.SerializeToString()


def _send(served: Served, deliveries: Delivery) -> None:
    for kind, body in deliveries:
        served.send([body] if kind == "traces" else [], [body] if kind == "logs" else [])


def _wait_long(served: Served) -> None:
    """Wait until everything acknowledged is loaded and interpreted, however long 300 runs take."""
    served.until(lambda: not served.health().get("load_lag_records"), seconds=300)
    served.until(lambda: not served.health()["interpretation_lag_traces"], seconds=300)


def _everything(served: Served) -> dict[str, list[str]]:
    found = {}
    for view in VIEWS:
        rows = served.rows(f"SELECT * FROM {view}")
        found[view] = sorted(
            json.dumps({key: value for key, value in row.items() if key not in UNEQUAL}, sort_keys=True)
            for row in rows
        )
    return found


@pytest.mark.parametrize(
    "deliveries", [pytest.param(2, marks=pytest.mark.soak), pytest.param(10, marks=pytest.mark.soak)]
)
def test_any_delivery_of_each_dialect_gives_equal_rows(tmp_path: Path, deliveries: int) -> None:
    chance = random.Random(20260921)
    as_recorded, otherwise = (
        Served(tmp_path / name, tmp_path / f"{name}.txt") for name in ("recorded", "other")
    )
    try:
        sent = 0
        for traces, logs in _examples(deliveries):
            as_recorded.send(traces, logs)
            _send(otherwise, _scattered(traces, logs, chance))
            sent += 1
        assert sent == deliveries * len({name.split("/")[0] for name in manifest()})
        for served in (as_recorded, otherwise):
            _wait_long(served)
        expected, found = _everything(as_recorded), _everything(otherwise)
    finally:
        as_recorded.kill()
        otherwise.kill()
    assert len(expected["runs"]) >= sent
    for view in VIEWS:
        assert found[view] == expected[view], view
