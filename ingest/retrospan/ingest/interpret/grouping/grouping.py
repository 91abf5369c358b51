"""Which spans are one run: a trace, unless its spans name a run or its root links into another trace's run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from retrospan.ingest.interpret.grouping.counted_histories import CountedHistory
from retrospan.ingest.interpret.grouping.retold_elsewhere import agents_of
from retrospan.ingest.interpret.grouping.turns import earlier_of, histories_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.operations import operation_of
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.spans.vocabulary import OPENTELEMETRY, Vocabulary
from retrospan.schemas import semconv
from retrospan.schemas.attributes import LINK_TYPE, RUN_ID

#: Operations of spans around the acts of a run.
_AROUND = ("agent", "workflow")
#: What begins something of its own, or is about something else.
_BEGINNING = (*_AROUND, "evaluation")


@dataclass(slots=True)
class Trace:
    """One trace as far as grouping needs it. `joins` is the trace it goes on, '' for none."""

    trace_id: str
    joins: str
    claims: list[str]
    has_operations: bool
    spans: list[NormalizedSpan] = field(default_factory=list)
    goes_on_from: str = ""  # hash of the history that its first request retells
    ends_with: str = ""  # hash of the history after its last
    ends_in_full: str = ""  # the same without the ids of calls, where these may get lost
    started_at: int = 0
    ended_at: int = 0
    failed: bool = False
    is_inside: bool = False  # another trace, which it goes on from by the id of a response
    is_same: bool = False  # as that trace: the same turn
    executes: bool = False  # what that trace asked for, and nothing else
    answers: tuple[str, ...] = ()  # hashes of what its requests answered
    counted: CountedHistory | None = None  # where only the count of tokens tells how far it has come
    retold: tuple[str, ...] = ()  # of what the requests answered that it retells, and does not tell


@dataclass(frozen=True, slots=True)
class TraceGroup:
    """Traces that belong together, the run by which they are given to one interpreter, and the spans of each run."""

    traces: dict[str, Trace]
    key: str
    runs: dict[str, list[NormalizedSpan]]


def read_groups(traces: Mapping[str, Trace]) -> list[TraceGroup]:
    """Return traces in groups that belong together: by what they say, and by the history they go on from."""
    return [TraceGroup(group, key_of(group), runs_of(group)) for group in groups_of(join_turns(traces))]


def is_run(spans: Iterable[NormalizedSpan]) -> bool:
    """Tell whether there is at least one GenAI operation, or a span that tells of state: other traces hold no run.

    What an MCP server did for an agent elsewhere is not a run: which one it is part of is not known.
    """
    return any(span.is_work and semconv.MCP_METHOD_NAME not in span.sent.attributes for span in spans)


def trace_of(trace_id: str, sent: Sequence[Span], spans: list[NormalizedSpan]) -> Trace:
    """Return what its spans say of the runs that a trace belongs to."""
    names = spans[0].names if spans else OPENTELEMETRY
    joins, claims = joined_trace(sent, names), claimed_runs(sent)
    trace = Trace(trace_id, joins, claims, is_run(spans), spans)
    if not (joins or claims):
        told = histories_of(spans)
        trace.goes_on_from, trace.is_inside, trace.is_same = told.goes_on_from, told.is_inside, told.is_same
        trace.executes, trace.answers, trace.retold = told.executes, told.answers, told.retold
        trace.ends_with, trace.ends_in_full = told.ends_with, told.ends_in_full
        trace.counted = told.counted
        trace.started_at = min((span.started_at for span in sent), default=0)
        trace.ended_at = max((span.done_at for span in sent), default=0)
        trace.failed = any(span.failed for span in spans)
    return trace


def join_turns(traces: Mapping[str, Trace]) -> dict[str, Trace]:
    """Return the traces, each joined to the one whose history it goes on from, or to the one that retells its answer."""
    earlier = {**agents_of(traces.values()), **earlier_of(traces.values())}
    return {
        trace_id: replace(trace, joins=earlier[trace_id]) if trace_id in earlier else trace
        for trace_id, trace in traces.items()
    }


def joined_trace(spans: Sequence[Span], names: Vocabulary) -> str:
    """Return the trace that these spans of one trace join, '' when they stand alone.

    A link of type `continues` says so; a link of the root span says so too when the root is neither an agent nor a
    workflow, which begin something of their own, nor an evaluation, which links to what it judges.
    """
    if not any(span.links for span in spans):
        return ""
    own = {span.span_id for span in spans}
    roots = sorted((span for span in spans if span.parent_span_id not in own), key=lambda span: span.order)
    for span in sorted(spans, key=lambda span: span.order):
        for link in span.links:
            if link.attributes.get(LINK_TYPE) == "continues" and link.trace_id != span.trace_id:
                return link.trace_id
    for root in roots:
        linked = (link.trace_id for link in root.links if LINK_TYPE not in link.attributes)
        other = next((trace_id for trace_id in linked if trace_id != root.trace_id), None)
        if (
            other is not None
            and not root.parent_span_id
            and operation_of(SpanFields(root, names), has_parent=False) not in _BEGINNING
        ):
            return other
    return ""


def claimed_runs(spans: Iterable[Span]) -> list[str]:
    """Return the run ids that spans name, sorted."""
    return sorted(
        {run_id for span in spans if isinstance(run_id := span.attributes.get(RUN_ID), str) and run_id}
    )


def groups_of(traces: Mapping[str, Trace]) -> list[dict[str, Trace]]:
    """Return the traces in groups that belong together: with each trace those that it joins, or names a run with.

    A run that is named may be another trace: its own run.
    """
    home = {trace_id: trace_id for trace_id in traces}

    def find(trace_id: str) -> str:
        while home[trace_id] != trace_id:
            home[trace_id] = home[home[trace_id]]
            trace_id = home[trace_id]
        return trace_id

    claimed: dict[str, str] = {}
    for trace_id, trace in traces.items():
        named = (claimed.setdefault(run_id, trace_id) for run_id in trace.claims)
        for other in [trace.joins, *trace.claims, *named]:
            if other in traces:
                home[find(trace_id)] = find(other)
    groups: dict[str, dict[str, Trace]] = {}
    for trace_id, trace in traces.items():
        groups.setdefault(find(trace_id), {})[trace_id] = trace
    return list(groups.values())


def runs_of(traces: Mapping[str, Trace]) -> dict[str, list[NormalizedSpan]]:
    """Return the spans of each run among traces that belong together, by run id; spans of no run are left out."""
    runs: dict[str, list[NormalizedSpan]] = {}
    there: set[tuple[str, str]] = set()
    for trace in traces.values():
        home = _home(trace, traces)
        if home != trace.trace_id:
            there = there or {(s.sent.trace_id, s.sent.span_id) for t in traces.values() for s in t.spans}
            _hang_under_link(trace, there)
            if trace.is_inside and trace.joins in traces:
                _hang_under_request(trace, traces[trace.joins])
            elif home in traces and (traces[home].retold or trace.retold):
                _hang_under_agent(trace, traces[home])
        if not trace.claims:
            runs.setdefault(home, []).extend(trace.spans)
            continue
        by_span = {span.sent.span_id: span for span in trace.spans}
        claimed: dict[str, str] = {}
        for span in trace.spans:
            runs.setdefault(_claimed(span, by_span, claimed) or home, []).append(span)
    return {run_id: own for run_id, own in runs.items() if is_run(own)}


def _home(trace: Trace, traces: Mapping[str, Trace]) -> str:
    """Return the trace at the end of the joins that has operations: its id is the run's. Of a circle it is the least."""
    path = {trace.trace_id: trace}
    at = trace
    while at.joins in traces:
        at = traces[at.joins]
        if at.trace_id in path:
            way = [*path]
            circle = way[way.index(at.trace_id) :]
            return min([each for each in circle if path[each].has_operations], default=trace.trace_id)
        path[at.trace_id] = at
    return next((each for each in reversed(path) if path[each].has_operations), trace.trace_id)


def _claimed(span: NormalizedSpan, by_span: Mapping[str, NormalizedSpan], claimed: dict[str, str]) -> str:
    """Return the run that a span or the nearest span above it names; `claimed` keeps it for those below."""
    at: NormalizedSpan | None = span
    path: dict[str, None] = {}
    found = ""
    while at is not None and at.sent.span_id not in path:
        span_id, named = at.sent.span_id, at.sent.attributes.get(RUN_ID)
        if span_id in claimed:
            found = claimed[span_id]
            break
        path[span_id] = None
        if isinstance(named, str) and named:
            found = named
            break
        at = by_span.get(at.sent.parent_span_id)
    claimed.update(dict.fromkeys(path, found))
    return found


def _hang_under_link(trace: Trace, there: AbstractSet[tuple[str, str]]) -> None:
    """Let the roots of a joined trace hang under the span they link to, where that is there."""
    for span in trace.spans:
        sent = span.sent
        if not sent.parent_span_id:
            target = next(
                (l for l in sent.links if (l.trace_id, l.span_id) in there and l.trace_id != sent.trace_id),
                None,
            )
            if target is not None:
                # What was sent stays as it is, to be read again.
                span.sent = replace(sent, parent_trace_id=target.trace_id, parent_span_id=target.span_id)


def _hang_under_request(trace: Trace, around: Trace) -> None:
    """Let the requests of a trace that lies inside another hang under those of it that have the same response; one that
    failed, under the only one that it lies in. Where the other is one span around them all, the root hangs under it.
    """
    outer = [span for span in around.spans if span.operation == "inference"]
    whole = around.spans[0].sent if len(around.spans) == 1 else None
    by_response = {span.response_id: span.sent for span in outer if span.response_id}
    for span in trace.spans:
        sent = span.sent
        if whole is not None and not outer:
            if not sent.parent_span_id:
                span.sent = replace(sent, parent_trace_id=whole.trace_id, parent_span_id=whole.span_id)
            continue
        found = [by_response[span.response_id]] if span.response_id in by_response else []
        if not span.response_id:
            found = [
                each.sent
                for each in outer
                if not each.response_id
                and each.sent.started_at <= sent.started_at
                and sent.until <= each.sent.until
            ]
        if len(found) == 1:
            span.sent = replace(sent, parent_trace_id=found[0].trace_id, parent_span_id=found[0].span_id)


def _hang_under_agent(trace: Trace, around: Trace) -> None:
    """Let the roots of a trace hang under the innermost agent around it, in the trace that retells its requests.

    Where agents were at work side by side, that is the one that they all are in; where there is none, the roots stay.
    """
    by_span = {span.sent.span_id: span for span in around.spans}
    for span in trace.spans:
        sent = span.sent
        if sent.parent_span_id:
            continue
        lines = [
            _line(one, by_span)
            for one in around.spans
            if one.operation in _AROUND
            and one.sent.started_at <= sent.started_at
            and sent.until <= one.sent.until
        ]
        ends = [line for line in lines if sum(line[-1] in other for other in lines) == 1]
        shared = [line[0] for line in zip(*ends, strict=False) if all(each is line[0] for each in line)]
        targets = [one.sent for one in shared if one.operation in _AROUND]
        if targets:
            target = targets[-1]
            span.sent = replace(sent, parent_trace_id=target.trace_id, parent_span_id=target.span_id)


def _line(span: NormalizedSpan, by_span: Mapping[str, NormalizedSpan]) -> list[NormalizedSpan]:
    """Return the spans from the root down to one."""
    line = [span]
    while (above := by_span.get(line[-1].sent.parent_span_id)) is not None and above not in line:
        line.append(above)
    return line[::-1]


def key_of(traces: Mapping[str, Trace]) -> str:
    """Return the run by which traces that belong together are given to one interpreter."""
    claims = [run_id for trace in traces.values() for run_id in trace.claims]
    return min(claims) if claims else min(_home(trace, traces) for trace in traces.values())
