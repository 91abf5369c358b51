"""Recorded requests as they may arrive: a span or a log record at a time, in any order, some of them twice."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

#: Requests with one span each, and requests with one log record each.
Arrived = tuple[list[bytes], list[bytes]]


def single_spans(requests: Sequence[bytes]) -> list[bytes]:
    """Return a request for each span of some requests."""
    found: list[bytes] = []
    for body in requests:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    one = ExportTraceServiceRequest()
                    group = one.resource_spans.add(resource=resource.resource)
                    group.scope_spans.add(scope=scope.scope, spans=[span])
                    found.append(one.SerializeToString())
    return found


def single_records(requests: Sequence[bytes]) -> list[bytes]:
    """Return a request for each log record of some requests."""
    found: list[bytes] = []
    for body in requests:
        for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
            for scope in resource.scope_logs:
                for record in scope.log_records:
                    one = ExportLogsServiceRequest()
                    group = one.resource_logs.add(resource=resource.resource)
                    group.scope_logs.add(scope=scope.scope, log_records=[record])
                    found.append(one.SerializeToString())
    return found


def stages(
    traces: Sequence[bytes], logs: Sequence[bytes], chance: random.Random, number: int
) -> Iterator[Arrived]:
    """Yield what has arrived so far, so many times, the last time all: mixed, or in order, a quarter of it twice."""
    pieces = [("traces", body) for body in single_spans(traces)]
    pieces += [("logs", body) for body in single_records(logs)]
    pieces += chance.sample(pieces, len(pieces) // 4)
    if chance.random() < 0.75:
        chance.shuffle(pieces)
    ends = sorted(chance.sample(range(1, len(pieces)), min(number - 1, len(pieces) - 1)))
    for end in (*ends, len(pieces)):
        so_far = pieces[:end]
        yield (
            [body for kind, body in so_far if kind == "traces"],
            [body for kind, body in so_far if kind == "logs"],
        )
