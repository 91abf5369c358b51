"""The JSON of Jaeger's older API, which its UI and Grafana read: `{"data": …, "errors": …}`. Pure.

Tags that Jaeger makes of an OTLP span are made here too: `span.kind`, `error`, `otel.status_code`, `otel.scope.name`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from retrospan.ingest.answer.jaeger.lookups import Piece, Span
from retrospan.ingest.answer.jaeger.searches import NAMELESS
from retrospan.ingest.answer.jaeger.shown import attributes_of, warnings_of, warnings_of_span, worded
from retrospan.ingest.answer.jaeger.tags import KINDS
from retrospan.ingest.json_text import bounded, write_json
from retrospan.ingest.load.attributes import value_of

#: Beyond these JavaScript has no whole numbers: such are sent as texts, as Jaeger does.
_SAFE = (1 << 53) - 1
_KIND_NAMES = {number: name for name, number in KINDS.items() if number}
_CODE_NAMES = {1: "OK", 2: "ERROR"}


def written(value: object) -> bytes:
    """Return JSON. What was not UTF-8 is shown as question marks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def answer(data: object, *, total: int = 0, errors: Sequence[Mapping[str, Any]] | None = None) -> bytes:
    """Return a whole answer."""
    return written({"data": data, "total": total, "limit": 0, "offset": 0, "errors": errors})


def error(status: int, message: str) -> bytes:
    """Return an error."""
    return answer(None, errors=[{"code": status, "msg": message}])


def traces(pieces: Iterable[Piece], missing: Sequence[str] = ()) -> Iterator[bytes]:
    """Yield an answer with traces, piece by piece. `missing` are ids of those that were not found."""
    yield b'{"data":['
    count = 0
    for trace_id, of_trace in groupby(pieces, lambda piece: piece[0].trace_id):
        yield b'%b{"traceID":%b,"spans":[' % (b"," if count else b"", written(trace_id))
        yield from _rest_of_trace(of_trace)
        count += 1
    errors = [{"msg": "trace not found", "traceID": each} for each in missing] or None
    yield b'],"total":%d,"limit":0,"offset":0,"errors":%b}' % (count, written(errors))


def _rest_of_trace(pieces: Iterable[Piece]) -> Iterator[bytes]:
    processes: dict[bytes, str] = {}
    warnings: list[str] = []
    comma = b""
    for trace, spans in pieces:
        warnings = warnings_of(trace)
        for span in spans:
            process = processes.setdefault(_process(span), f"p{len(processes) + 1}")
            yield comma + written(_span(span, process))
            comma = b","
    told = b",".join(written(name) + b":" + process for process, name in processes.items())
    yield b'],"processes":{%b},"warnings":%b}' % (told, written(warnings or None))


def _span(span: Span, process: str) -> Mapping[str, Any]:
    known = span.started_ns and span.ended_ns >= span.started_ns
    references = [_reference("CHILD_OF", span.trace_id, span.parent_span_id)] if span.parent_span_id else []
    references += [_reference("FOLLOWS_FROM", link[0], link[1]) for link in span.links]
    return {
        "traceID": span.trace_id,
        "spanID": span.span_id,
        "flags": span.flags & 0xFF,
        "operationName": span.name,
        "references": references,
        "startTime": span.started_ns // 1000,
        "duration": (span.ended_ns - span.started_ns) // 1000 if known else 0,
        "tags": _tags(span),
        "logs": [
            {
                "timestamp": time_ns // 1000,
                "fields": [_tag("event", "string", name), *(_tag(*triple) for triple in attributes)],
            }
            for time_ns, name, attributes, _ in span.events
        ],
        "processID": process,
        "warnings": warnings_of_span(span) or None,
    }


def _tags(span: Span) -> list[Mapping[str, Any]]:
    tags = [_tag(*triple) for triple in attributes_of(span)]

    def add(key: str, kind: str, value: str) -> None:
        tags.append(_tag(key, kind, value))

    if span.kind in _KIND_NAMES:
        add("span.kind", "string", _KIND_NAMES[span.kind])
    if span.scope_name:
        add("otel.scope.name", "string", span.scope_name)
    if span.scope_version:
        add("otel.scope.version", "string", span.scope_version)
    if span.status_code in _CODE_NAMES:
        add("otel.status_code", "string", _CODE_NAMES[span.status_code])
    if span.status_code == 2:
        add("error", "bool", "true")
    if span.status_message:
        add("otel.status_description", "string", span.status_message)
    if span.trace_state:
        add("w3c.tracestate", "string", span.trace_state)
    for what in ("attributes", "events", "links"):
        if dropped := getattr(span, f"dropped_{what}"):
            add(f"otel.dropped_{what}_count", "int", str(dropped))
    return tags


def _process(span: Span) -> bytes:
    name = next((value for key, _, value in reversed(span.resource_attributes) if key == "service.name"), "")
    tags = [_tag(*triple) for triple in span.resource_attributes if triple[0] != "service.name"]
    return written({"serviceName": name or NAMELESS, "tags": tags})


def _reference(kind: str, trace_id: str, span_id: str) -> Mapping[str, str]:
    return {"refType": kind, "traceID": trace_id, "spanID": span_id}


def _tag(key: str, kind: str, text: str) -> Mapping[str, Any]:
    value = bounded(value_of(kind, text)) if kind not in ("bytes", "string") else text
    if kind == "bytes":
        return {"key": key, "type": "binary", "value": text}
    if isinstance(value, bool):
        return {"key": key, "type": "bool", "value": value}
    if isinstance(value, int):
        return {"key": key, "type": "int64", "value": value if abs(value) <= _SAFE else str(value)}
    if isinstance(value, float):
        if not math.isfinite(value):
            return {"key": key, "type": "string", "value": worded(value)}
        return {"key": key, "type": "float64", "value": value}
    if value is None:
        return {"key": key, "type": "string", "value": ""}
    return {"key": key, "type": "string", "value": value if isinstance(value, str) else write_json(value)}
