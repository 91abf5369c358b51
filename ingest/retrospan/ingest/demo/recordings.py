"""The recorded exports the demo plays: LangGraph and OpenAI agents, as their own instrumentation sent them.

Each file is a gzipped sequence of OTLP requests, each preceded by its length as a varint. Nothing in them is changed
but the times, which are moved so that the runs seem to have happened a little while ago.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One recorded export request."""

    run: str
    signal: str  # traces | logs
    message: ExportTraceServiceRequest | ExportLogsServiceRequest


def load_requests() -> list[RecordedRequest]:
    """Return all recorded requests, run by run."""
    folder = files("retrospan.ingest.demo") / "recordings"
    requests = []
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        run, signal, _ = file.name.split(".", 2)
        kind = ExportTraceServiceRequest if signal == "traces" else ExportLogsServiceRequest
        requests += [
            RecordedRequest(run, signal, kind.FromString(body))
            for body in _bodies(gzip.decompress(file.read_bytes()))
        ]
    return requests


def _bodies(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield data[at : at + size]
        at += size


def run_ids(requests: list[RecordedRequest]) -> dict[str, list[str]]:
    """Return the trace ids of each recorded run, in order of appearance."""
    found: dict[str, dict[str, None]] = {}
    for request in requests:
        for span in _spans(request):
            found.setdefault(request.run, {})[span.trace_id.hex()] = None
    return {run: list(ids) for run, ids in found.items()}


def move_times(requests: list[RecordedRequest], end_ns: int, gap_ns: int) -> None:
    """Move the runs in place: the last one ends at `end_ns`, each of the others `gap_ns` before the next one began."""
    for run in reversed(list(dict.fromkeys(request.run for request in requests))):
        own = [request for request in requests if request.run == run]
        spans = [span for request in own for span in _spans(request)]
        began = min(span.start_time_unix_nano for span in spans)
        shift = end_ns - max(span.end_time_unix_nano for span in spans)
        for request in own:
            _shift(request, shift)
        end_ns = began + shift - gap_ns


def _spans(request: RecordedRequest) -> Iterator[Span]:
    if isinstance(request.message, ExportTraceServiceRequest):
        for resource in request.message.resource_spans:
            for scope in resource.scope_spans:
                yield from scope.spans


def _shift(request: RecordedRequest, shift_ns: int) -> None:
    if isinstance(request.message, ExportTraceServiceRequest):
        for span in _spans(request):
            span.start_time_unix_nano += shift_ns
            span.end_time_unix_nano += shift_ns
            for event in span.events:
                event.time_unix_nano += shift_ns
        return
    for group in request.message.resource_logs:
        for scope in group.scope_logs:
            for record in scope.log_records:
                if record.time_unix_nano:
                    record.time_unix_nano += shift_ns
                record.observed_time_unix_nano += shift_ns
