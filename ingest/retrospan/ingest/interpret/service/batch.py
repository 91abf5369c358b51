"""Interpreting some traces of one tenant: raw rows read once, rows of all their runs returned together."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from retrospan.ingest.interpret.conversations import Conversations, Past
from retrospan.ingest.interpret.grouping.grouping import (
    Trace,
    TraceGroup,
    read_groups,
    trace_of,
)
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.rows.lists import LISTS, Rows
from retrospan.ingest.interpret.rows.placeholders import broken_run
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.run import InterpretedRun, interpret, read_spans
from retrospan.ingest.interpret.service.histories import ToldHistories
from retrospan.ingest.interpret.service.kept_traces import KeptTraces
from retrospan.ingest.interpret.service.span_rows import arrivals_of, log_text_rows, span_rows
from retrospan.ingest.interpret.service.trace_row import trace_row
from retrospan.ingest.interpret.spans.decoded_traces import DecodedTraces
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.repeated_ids import repeated_ids
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.version import version_with
from retrospan.ingest.json_text import TOO_DEEP
from retrospan.ingest.prices.history import NO_PRICES, PriceHistory
from retrospan.ingest.rules.ruleset import NO_RULES, Ruleset
from retrospan.schemas.sequences import Newest

#: Runs that are interpreted get their rows together, until their values have so many characters.
HELD_CHARACTERS = 4_000_000


@dataclass(slots=True)
class InterpretedTraces:
    """What came of a batch: rows to write, and what each trace cost."""

    rows: Rows = field(default_factory=Rows)
    effort: dict[str, float] = field(default_factory=dict)
    spans: int = 0
    broken: int = 0
    rules: Ruleset = NO_RULES
    prices: PriceHistory = NO_PRICES
    foreign: dict[str, str] = field(
        default_factory=dict
    )  # trace id → the run whose interpreter is to read it
    histories: dict[str, ToldHistories] = field(default_factory=dict)  # by trace
    claims: dict[str, list[str]] = field(default_factory=dict)  # the runs that a trace names, by trace
    left: set[str] = field(default_factory=set)
    """Traces that cannot be read before another trace or run is looked up; they get no rows here."""


def interpret_traces(
    tenant: str,
    newest: Mapping[str, Newest],
    given: DecodedTraces,
    next_generation: Callable[[], int],
    conversations: Conversations | None,
    owns: Callable[[str], bool] = lambda run_id: True,
    rules: Ruleset = NO_RULES,
    prices: PriceHistory = NO_PRICES,
    *,
    at_once: bool = True,
    kept: KeptTraces | None = None,
    is_all: Callable[[ToldHistories], bool] = lambda told: True,
) -> InterpretedTraces:
    """Return the rows of the traces in `newest` (trace id → newest record of each log known to hold some of it).

    The traces must be complete groups: with each trace all that join it or that it joins. Runs are read in the order of
    their start, so that a run finds the one before it in its conversation. A run whose interpretation fails is
    listed with its traceback and holds up no other. Without `conversations` nothing can be looked up: traces of which
    something has to be are `left`. Where the histories of the others and the runs that they name lead to no other trace
    their rows are right, which the caller finds out: `is_all` is asked before anything is interpreted, and when it denies,
    nothing is. A group whose key `owns` denies is left to the interpreter that owns it. `rules` are the user's mutation
    rules, `prices` what models cost when. Without `at_once` the rows were read one after the other: that one of a record
    is among them does not tell that all of that record are. Spans that are `kept` are not read again.
    """
    batch = InterpretedTraces(rules=rules, prices=prices)
    spans = given.spans
    problems: dict[str, ParseIssues] = {trace_id: ParseIssues() for trace_id in newest}
    _note_depth(given, problems)
    _note_repeated_ids(spans, problems)
    groups = _groups(spans, problems, batch, tenant, next_generation, kept)
    if conversations is None:
        batch.left.update(trace_id for group in groups if not _is_alone(group) for trace_id in group.traces)
        groups = [*filter(_is_alone, groups)]
    traces = {trace_id: trace for group in groups for trace_id, trace in group.traces.items()}
    histories = {trace_id: _histories(trace) for trace_id, trace in traces.items()}
    batch.histories = {trace_id: of_trace for trace_id, of_trace in histories.items() if of_trace}
    batch.claims = {trace_id: trace.claims for trace_id, trace in traces.items() if trace.claims}
    if not is_all(ToldHistories.together(batch.histories.values())):
        return batch
    told: list[_Told] = []
    held = 0
    for group in groups:
        if not owns(group.key):
            batch.foreign.update(dict.fromkeys(group.traces, group.key))
            continue
        began, before = time.perf_counter(), len(told)
        generation = next_generation()
        homes = _interpret_group(batch, generation, group, problems, conversations, told)
        if homes is None:
            del told[before:]
            for trace_id in group.traces:
                batch.left.add(trace_id)
                batch.histories.pop(trace_id, None)
                batch.claims.pop(trace_id, None)
            continue
        for trace_id, trace in group.traces.items():
            seen = [*newest[trace_id], *(given.sequences[trace_id] if at_once else ())]
            _add_trace(batch, tenant, generation, trace, given, homes.get(trace_id, {}), seen)
            batch.effort[trace_id] = (time.perf_counter() - began) / len(group.traces)
        held += sum(map(_weight, told[before:])) if len(groups) > 1 else 0
        if held > HELD_CHARACTERS:
            _use_up(batch, tenant, told)
            held = 0
    _use_up(batch, tenant, told)
    return batch


def _add_trace(
    batch: InterpretedTraces,
    tenant: str,
    generation: int,
    trace: Trace,
    given: DecodedTraces,
    homes: Mapping[str, str],
    seen: Sequence[int],
) -> None:
    """Add the rows of a trace itself, of its spans and of its log records; `homes` has the run of each span."""
    trace_id, spans = trace.trace_id, given.spans[trace.trace_id]
    row = trace_row(tenant, trace_id, trace, homes, generation, seen, version_with(batch.rules))
    batch.rows.traces.append(row)
    if deep_logs := given.deep_logs[trace_id]:
        batch.rows.log_texts += log_text_rows(tenant, generation, trace_id, deep_logs, homes)
    found = span_rows(tenant, generation, spans, given.deep[trace_id], trace, homes)
    batch.rows.spans += found
    if len(spans) == given.rows[trace_id]:
        row.arrivals = arrivals_of(spans, found)
    batch.spans += given.rows[trace_id]


def _use_up(batch: InterpretedTraces, tenant: str, told: list[_Told]) -> None:
    """Add the rows of runs, and let go of these. Apart from interpreting them, for as long as the same code is at work the
    processor has it at hand.
    """
    told.reverse()
    while told:
        one = told.pop()
        began = time.perf_counter()
        _add_rows(batch, tenant, one)
        for trace_id in one.group.traces:
            batch.effort[trace_id] += (time.perf_counter() - began) / len(one.group.traces)


def _weight(told: _Told) -> int:
    """Return how many characters the values of a run have."""
    return sum(len(value.json) for value in told.run.values.all) if told.run is not None else 0


def _histories(trace: Trace) -> ToldHistories | None:
    """Return the histories that a trace goes on from and ends with, and the answers that it gave or retells; None without
    any."""
    begun = () if trace.is_same else (trace.goes_on_from,)
    inside = (trace.goes_on_from,) if trace.is_same else ()
    ended = trace.ends_with, trace.ends_in_full
    some = [frozenset(filter(None, each)) for each in (begun, inside, ended, trace.answers, trace.retold)]
    return ToldHistories(*some) if any(some) else None


def _is_alone(group: TraceGroup) -> bool:
    """Tell whether a trace joins no other, unless it is by its histories or by the runs that it names."""
    return len(group.traces) == 1 and not any(trace.joins for trace in group.traces.values())


def _groups(
    spans: Mapping[str, list[Span]],
    problems: Mapping[str, ParseIssues],
    batch: InterpretedTraces,
    tenant: str,
    next_generation: Callable[[], int],
    kept: KeptTraces | None,
) -> list[TraceGroup]:
    """Return the traces in groups that belong together, earliest first."""
    traces: dict[str, Trace] = {}
    for trace_id, own in spans.items():
        try:
            reader = kept.reader(tenant, trace_id, own) if kept is not None else None
            shown = [span for span in own if not span.is_apart]
            normalized = read_spans(shown, problems[trace_id], reader=reader)
        except Exception:  # noqa: BLE001 (whatever one trace holds, the others go on)
            batch.broken += 1
            _extend(batch.rows, broken_run(tenant, trace_id, next_generation(), own, traceback.format_exc()))
            normalized = []
        traces[trace_id] = trace_of(trace_id, own, normalized)

    def began(group: TraceGroup) -> tuple[int, str]:
        starts = [span.started_at for trace_id in group.traces for span in spans[trace_id]]
        return (min(starts, default=0), min(group.traces))

    return sorted(read_groups(traces), key=began)


def _note_depth(given: DecodedTraces, problems: Mapping[str, ParseIssues]) -> None:
    """List the attributes whose values are nested too deeply to be read whole."""
    for trace_id, deep in given.deep.items():
        for span_id, texts in deep.items():
            for key, text in texts.items():
                if TOO_DEEP in text:
                    problems[trace_id].add(span_id, key, "", "nested too deeply")


def _note_repeated_ids(spans: Mapping[str, Sequence[Span]], problems: Mapping[str, ParseIssues]) -> None:
    """List the first span of each trace of which there are variants that began at other times."""
    for trace_id, own in spans.items():
        repeated = [span for span in own if span.other_times]
        if repeated:
            first = min(repeated, key=lambda span: span.order)
            problems[trace_id].add(
                first.span_id, "trace_id", str(first.other_times), repeated_ids(len(repeated))
            )


class _NotAlone(Exception):
    """A run can only be read with the one before it in its conversation."""


@dataclass(frozen=True, slots=True)
class _Told:
    """A run that has no rows yet; why it has none, where its interpretation failed."""

    run_id: str
    group: TraceGroup
    generation: int
    spans: list[NormalizedSpan]
    run: InterpretedRun | None
    history_run_id: str | None = None
    failure: str = ""


def _interpret_group(
    batch: InterpretedTraces,
    generation: int,
    group: TraceGroup,
    problems: Mapping[str, ParseIssues],
    conversations: Conversations | None,
    told: list[_Told],
) -> dict[str, dict[str, str]] | None:
    """Add what a group's runs are; return the run of each span, by trace and span id. None where one of them has to be
    looked up first.
    """
    homes: dict[str, dict[str, str]] = {}
    for run_id, spans in sorted(group.runs.items()):
        found = ParseIssues()
        for trace_id in {span.sent.trace_id for span in spans}:
            found.found.update(problems[trace_id].found)
        try:
            run, history_run_id = _interpret_run(batch, run_id, spans, found, conversations)
            told.append(_Told(run_id, group, generation, spans, run, history_run_id))
        except _NotAlone:
            return None
        except Exception:  # noqa: BLE001 (whatever one run does, the others go on)
            told.append(_Told(run_id, group, generation, spans, None, failure=traceback.format_exc()))
        for span in spans:
            homes.setdefault(span.sent.trace_id, {})[span.sent.span_id] = run_id
    return homes


def _add_rows(batch: InterpretedTraces, tenant: str, told: _Told) -> None:
    """Add the rows of a run, or those that say why it has none."""
    failure = told.failure
    if told.run is not None:
        try:
            found = rows_of(told.run, tenant, told.generation, told.history_run_id, batch.prices)
            _extend(batch.rows, found)
            return
        except Exception:  # noqa: BLE001 (whatever one run does, the others go on)
            failure = traceback.format_exc()
    batch.broken += 1
    own = [span.sent for span in told.spans]
    _extend(batch.rows, broken_run(tenant, told.run_id, told.generation, own, failure))


def _interpret_run(
    batch: InterpretedTraces,
    run_id: str,
    spans: list[NormalizedSpan],
    problems: ParseIssues,
    conversations: Conversations | None,
) -> tuple[InterpretedRun, str | None]:
    """Return the run and the run its history leans on: '' when there is none, None when its API keeps no history.

    Raises _NotAlone without conversations, where it needs them.
    """
    run = interpret(run_id, spans, problems, None, batch.rules)
    if not run.conversation:
        return run, None
    leans = run.stores_history or run.wants_previous_run
    if conversations is None:
        if leans or run.resumes:
            raise _NotAlone
        return run, None
    started_at = min(span.sent.started_at for span in spans)
    if run.resumes:
        run.resumed_run_id = conversations.run_before(run.conversation, run_id, started_at)
    history_run_id = "" if leans else None
    if run.wants_previous_run:
        past = conversations.previous(run.conversation, run_id, started_at, kept_only=run.stores_history)
        if past is not None and past.history:
            history_run_id = past.run_id
            resumed_run_id = run.resumed_run_id
            run = interpret(run_id, spans, problems, past.history, batch.rules)
            run.resumed_run_id = resumed_run_id
    own = Past(run_id, started_at, run.final_history)
    conversations.note(run.conversation or "", own, is_kept=run.stores_history)
    return run, history_run_id


def _extend(rows: Rows, more: Rows) -> None:
    for name in LISTS:
        if added := getattr(more, name):
            getattr(rows, name).extend(added)
