"""Agents on the command line that sent log records and no spans: what they sent, process by process.

Recorded from Claude Code 2.1.332 and Codex 0.171.0 against a model server of our own, request by request, without records
of other things than acts and without what names a machine or a person.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

RECORDED = Path(__file__).parent / "recordings" / "records_alone"
SCENES = sorted(path.stem for path in RECORDED.glob("*.jsonl"))


@cache
def sent_by(scene: str) -> tuple[bytes, ...]:
    """The requests of a scene, in order, as they were sent: no record names a trace."""
    lines = (RECORDED / f"{scene}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(Parse(line, ExportLogsServiceRequest()).SerializeToString() for line in lines)


@cache
def sent_beside(scene: str) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The requests of spans and of log records of an agent that sent both, or that ran inside of another program's span."""
    spans, records = (
        (RECORDED / "beside" / f"{scene}.{signal}.jsonl").read_text(encoding="utf-8").splitlines()
        for signal in ("traces", "logs")
    )
    return (
        tuple(Parse(line, ExportTraceServiceRequest()).SerializeToString() for line in spans),
        tuple(Parse(line, ExportLogsServiceRequest()).SerializeToString() for line in records),
    )
