"""Spans of OTLP requests without a warehouse between, for tests of the pure core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from fix_recordings import Recording
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SentSpan

from retrospan.ingest.interpret.grouping.grouping import groups_of, join_turns, runs_of, trace_of
from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.run import InterpretedRun, interpret, read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.sent_as_logs import OwnRecord, attach, is_own
from retrospan.ingest.interpret.spans.span import Event, Link, LogRecord, Span
from retrospan.ingest.interpret.spans.stray_logs import awaiting, place_strays
from retrospan.ingest.interpret.spans.told_beside import take_in_told, tells_act
from retrospan.ingest.interpret.spans.vocabulary import OPENTELEMETRY
from retrospan.ingest.rules.ruleset import NO_RULES, Ruleset
from retrospan.schemas import semconv

#: How spans are read, one by one.
Reader = Callable[[Sequence[Span], ParseIssues], list[NormalizedSpan]]


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    found: object = getattr(value, kind)
    return found


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, object]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _span(sent: SentSpan, scope: InstrumentationScope, about: dict[str, object], sequence: int) -> Span:
    """Return a span as it is decoded from the request of that number; `about` is its resource."""
    return Span(
        trace_id=sent.trace_id.hex(),
        span_id=sent.span_id.hex(),
        parent_span_id=sent.parent_span_id.hex(),
        name=sent.name,
        kind=sent.kind,
        flags=sent.flags,
        started_at=sent.start_time_unix_nano,
        ended_at=sent.end_time_unix_nano,
        status=("unset", "ok", "error")[sent.status.code],
        status_message=sent.status.message,
        scope=scope.name,
        scope_version=scope.version,
        attributes=_attributes(sent.attributes),
        resource=about,
        events=[
            Event(name=event.name, time_ns=event.time_unix_nano, attributes=_attributes(event.attributes))
            for event in sent.events
        ],
        links=[
            Link(
                trace_id=link.trace_id.hex(),
                span_id=link.span_id.hex(),
                attributes=_attributes(link.attributes),
            )
            for link in sent.links
        ],
        sequence=sequence,
        heard_sequence=sequence,
    )


def spans_of_requests(traces: Sequence[bytes], logs: Sequence[bytes] = ()) -> list[Span]:
    """Return the spans of the requests with their log records, in the order of the bytes."""
    spans: dict[tuple[str, str], Span] = {}
    for sequence, body in enumerate(traces, start=1):
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            about = _attributes(resource.resource.attributes)
            for scope in resource.scope_spans:
                for sent in scope.spans:
                    span = _span(sent, scope.scope, about, sequence)
                    spans[(span.trace_id, span.span_id)] = span
    own: dict[tuple[str, str], list[OwnRecord]] = {}
    told: dict[str, list[OwnRecord]] = {}
    strays: list[LogRecord] = []
    for sequence, body in enumerate(logs, start=len(traces) + 1):
        for group in ExportLogsServiceRequest.FromString(body).resource_logs:
            for scope_logs in group.scope_logs:
                for record in scope_logs.log_records:
                    at = record.time_unix_nano or record.observed_time_unix_nano
                    key = (record.trace_id.hex(), record.span_id.hex())
                    attributes = _attributes(record.attributes)
                    content = sha256(record.SerializeToString(deterministic=True)).hexdigest()
                    log = LogRecord(
                        event=record.event_name or str(attributes.get(semconv.EVENT_NAME, "")),
                        time_ns=at,
                        body=_value(record.body),
                        attributes=attributes,
                        order=(at, record.observed_time_unix_nano, content),
                    )
                    telling = OwnRecord(
                        log=log,
                        span_id=key[1],
                        resource=_attributes(group.resource.attributes),
                        scope=scope_logs.scope.name,
                        scope_version=scope_logs.scope.version,
                        sequence=sequence,
                        arrived_at=sequence,
                    )
                    if is_own(log.event):
                        own.setdefault(key, []).append(telling)
                        continue
                    if key[0] and tells_act(log):
                        told.setdefault(key[0], []).append(telling)
                    if key in spans:
                        spans[key].logs.append(log)
                    elif not key[0]:
                        strays.append(log)
    attach(spans, own)
    place_strays(awaiting(spans.values(), OPENTELEMETRY), strays, OPENTELEMETRY)
    return [*spans.values(), *take_in_told(spans.values(), told)]


def read_run(
    run_id: str,
    spans: Sequence[Span],
    previous: Sequence[Message] | None = None,
    rules: Ruleset = NO_RULES,
    read: Reader = read_spans,
) -> InterpretedRun:
    """Interpret spans as one run."""
    problems = ParseIssues()
    _attach_made(spans)
    return interpret(run_id, read(spans, problems), problems, previous, rules)


def read_runs(
    spans: Sequence[Span], rules: Ruleset = NO_RULES, read: Reader = read_spans
) -> list[InterpretedRun]:
    """Interpret the runs of some spans, oldest first, each with the final history of the one before where it wants it."""
    _attach_made(spans)
    sent: dict[str, list[Span]] = {}
    for span in spans:
        sent.setdefault(span.trace_id, []).append(span)
    traces = {trace_id: trace_of(trace_id, own, read(own, ParseIssues())) for trace_id, own in sent.items()}
    found = [run for group in groups_of(join_turns(traces)) for run in runs_of(group).items()]
    runs: list[InterpretedRun] = []
    for run_id, members in sorted(found, key=lambda run: min(span.sent.started_at for span in run[1])):
        own = [span.sent for span in members]
        run = read_run(run_id, own, rules=rules, read=read)
        if run.wants_previous_run and runs and runs[-1].conversation == run.conversation:
            run = read_run(run_id, own, runs[-1].final_history, rules, read)
        runs.append(run)
    return runs


def _attach_made(spans: Sequence[Span]) -> None:
    """Have the events of spans that a test made without requests read as those of requests are."""
    for span in spans:
        if span.events and not any(event.identity for event in span.events):
            attach({(span.trace_id, span.span_id): span}, {})


def rows_of_spans(spans: Sequence[Span], rules: Ruleset = NO_RULES) -> list[Rows]:
    """Return the canonical rows of the runs in some spans, generation 1."""
    return [rows_of(run, "default", 1, None) for run in read_runs(spans, rules)]


def rows_of_recording(recording: Recording) -> Sequence[Rows]:
    """Return the canonical rows of the recording's runs, generation 1; read once in a process."""
    found = _ROWS.get((recording.traces, recording.logs))
    if found is None:
        found = rows_of_spans(spans_of_requests(recording.traces, recording.logs))
        _ROWS[recording.traces, recording.logs] = found
    return found


#: By the requests themselves: a recording that a test has altered is another.
_ROWS: dict[tuple[tuple[bytes, ...], tuple[bytes, ...]], Sequence[Rows]] = {}
