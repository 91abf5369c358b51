"""The JSON of Jaeger's newer API, `/api/v3`: spans as OTLP writes them, inside `result`. Pure.

As in OTLP's JSON ids are hex, 64-bit integers texts, kinds and codes numbers, and what is empty is left out.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from retrospan.ingest.answer.jaeger.classic import written
from retrospan.ingest.answer.jaeger.lookups import Piece, Span, Summary
from retrospan.ingest.answer.jaeger.shown import attributes_of, warnings_of, worded
from retrospan.ingest.json_text import MAX_DEPTH, TOO_DEEP
from retrospan.ingest.load.attributes import value_of
from retrospan.schemas.raw import Triple

#: Where Jaeger's storage keeps the warnings of a span that OTLP has no field for; its UI shows it as a tag.
WARNINGS = "@jaeger@warnings"


def error(status: int, message: str) -> bytes:
    """Return an error."""
    return written({"error": {"httpCode": status, "message": message}})


def traces(pieces: Iterable[Piece]) -> Iterator[bytes]:
    """Yield an answer with spans, piece by piece."""
    yield b'{"result":{"resourceSpans":['
    comma = b""
    warned: set[str] = set()
    for trace, spans in pieces:
        # OTLP has no place for what is said of a trace: its first span carries it.
        warnings = warnings_of(trace) if trace.trace_id not in warned else []
        warned.add(trace.trace_id)
        for resource in _resources(spans, warnings):
            yield comma + written(resource)
            comma = b","
    yield b"]}}"


def summaries(found: Sequence[Summary]) -> bytes:
    """Return an answer with traces in numbers."""
    return written({"summaries": [_summary(each) for each in found]})


def _summary(found: Summary) -> Mapping[str, Any]:
    return _full(
        traceId=found.trace_id,
        rootServiceName=found.root_service,
        rootOperationName=found.root_name,
        minStartTimeUnixNano=_long(found.first_ns),
        maxEndTimeUnixNano=_long(found.last_ns),
        spanCount=found.spans,
        errorSpanCount=found.errors,
        orphanSpanCount=found.orphans,
        services=[
            _full(spanCount=count, errorSpanCount=found.errors_of.get(name, 0)) | {"name": name}
            for name, count in found.spans_of.items()
        ],
    )


def _resources(spans: Sequence[Span], warnings: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return spans grouped by what sent them, in the order in which these first appear."""
    resources: dict[str, dict[str, Any]] = {}
    scopes: dict[tuple[str, str], dict[str, Any]] = {}
    for span in spans:
        of_resource = json.dumps([span.resource_attributes, span.resource_dropped, span.resource_schema_url])
        of_scope = json.dumps(
            [span.scope_name, span.scope_version, span.scope_attributes, span.scope_schema_url]
        )
        resource = resources.get(of_resource)
        if resource is None:
            told = _full(
                attributes=_attributes(span.resource_attributes), droppedAttributesCount=span.resource_dropped
            )
            resource = resources[of_resource] = {
                "resource": told,
                "scopeSpans": [],
                **_full(schemaUrl=span.resource_schema_url),
            }
        scope = scopes.get((of_resource, of_scope))
        if scope is None:
            named = _full(
                name=span.scope_name,
                version=span.scope_version,
                attributes=_attributes(span.scope_attributes),
            )
            scope = scopes[of_resource, of_scope] = {
                "scope": named,
                "spans": [],
                **_full(schemaUrl=span.scope_schema_url),
            }
            resource["scopeSpans"].append(scope)
        scope["spans"].append(_span(span, warnings))
        warnings = ()
    return list(resources.values())


def _span(span: Span, warnings: Sequence[str]) -> Mapping[str, Any]:
    attributes = _attributes(attributes_of(span))
    if warnings:
        values = [{"stringValue": warning} for warning in warnings]
        attributes.append({"key": WARNINGS, "value": {"arrayValue": {"values": values}}})
    return _full(
        traceId=span.trace_id,
        spanId=span.span_id,
        traceState=span.trace_state,
        parentSpanId=span.parent_span_id,
        flags=span.flags,
        name=span.name,
        kind=span.kind,
        startTimeUnixNano=_long(span.started_ns),
        endTimeUnixNano=_long(span.ended_ns),
        attributes=attributes,
        droppedAttributesCount=span.dropped_attributes,
        events=[
            _full(
                timeUnixNano=_long(time_ns),
                name=name,
                attributes=_attributes(of_event),
                droppedAttributesCount=dropped,
            )
            for time_ns, name, of_event, dropped in span.events
        ],
        droppedEventsCount=span.dropped_events,
        links=[
            _full(
                traceId=trace_id,
                spanId=span_id,
                traceState=state,
                attributes=_attributes(of_link),
                droppedAttributesCount=dropped,
                flags=flags,
            )
            for trace_id, span_id, state, flags, of_link, dropped in span.links
        ],
        droppedLinksCount=span.dropped_links,
    ) | {"status": _full(message=span.status_message, code=span.status_code)}


def _attributes(triples: Iterable[Triple]) -> list[Mapping[str, Any]]:
    return [{"key": key, "value": _any(value_of(kind, text), MAX_DEPTH)} for key, kind, text in triples]


def _any(value: object, depth: int) -> Mapping[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else worded(value)}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, list | dict) and not depth:
        return {"stringValue": TOO_DEEP}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_any(each, depth - 1) for each in value]}}
    if isinstance(value, dict):
        members = [{"key": str(key), "value": _any(each, depth - 1)} for key, each in value.items()]
        return {"kvlistValue": {"values": members}}
    return {} if value is None else {"stringValue": value}


def _long(number: int) -> str:
    return str(number) if number else ""


def _full(**members: object) -> dict[str, Any]:
    """Return those that are not empty."""
    return {name: value for name, value in members.items() if value}
