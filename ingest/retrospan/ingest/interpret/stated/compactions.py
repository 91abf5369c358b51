"""Shortenings of the context: as programs state them, and as OpenTelemetry's flag `gen_ai.conversation.compacted` shows.

The flag says of an operation that its context is a shortened view, not that it was shortened just then: it stays on the
calls that follow. Of calls in one context only the first that has it tells of a shortening.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.facts import facts_named, places_named
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Attributes
from retrospan.ingest.interpret.spans.span_fields import DETAILS_EVENT
from retrospan.ingest.interpret.stated.events import StatedEvent, Whereabouts
from retrospan.ingest.interpret.stated.fields import Fields
from retrospan.ingest.interpret.steps.context_use import ContextUse
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.schemas import attributes as conventions
from retrospan.schemas import semconv

COMPACTIONS = ("summary", "edit", "trim")
#: Kinds of spans whose flag sums up what lies inside them.
_AROUND = ("agent", "workflow", "step")
_NAMES = (semconv.CONVERSATION_COMPACTED,)


@dataclass(frozen=True, slots=True)
class Compaction:
    event: StatedEvent
    kind: str | None
    tokens_before: int | None
    tokens_after: int | None
    model_call: int  # ordinal of the first call of the same agent after it; 0: there is none


def read_compaction(event: StatedEvent, calls: Sequence[ModelCall]) -> Compaction:
    """Return a shortening that an event states, with the first model call of the agent that began after it."""
    fields = event.fields
    return Compaction(
        event,
        fields.choice(conventions.COMPACTION_TYPE, COMPACTIONS),
        fields.count(conventions.COMPACTION_TOKENS_BEFORE),
        fields.count(conventions.COMPACTION_TOKENS_AFTER),
        _following(event.span, event.at, calls),
    )


def read_flagged(
    tree: Tree,
    calls: Sequence[ModelCall],
    context: Sequence[ContextUse],
    whereabouts: Whereabouts,
    stated: Sequence[Compaction],
    problems: ParseIssues,
) -> list[Compaction]:
    """Return the shortenings that OpenTelemetry's name tells of and that are not among those stated."""
    found: list[Compaction] = []
    flagged: dict[int, NormalizedSpan] = {}
    around: list[NormalizedSpan] = []
    telling: list[NormalizedSpan] = []
    for span in tree.spans:
        sent = span.sent
        has_more = bool(sent.events or sent.logs)
        if span.is_told or not (has_more or semconv.CONVERSATION_COMPACTED in sent.attributes):
            continue
        for event in facts_named(span.sent, _NAMES):
            at = event.time_ns or span.sent.done_at
            found.append(_compaction(span, at, event.attributes, calls, whereabouts, problems))
            telling.append(span)
        if not _is_flagged(span, problems):
            continue
        step = whereabouts.around(span)
        if step is not None and step.model is not None:
            flagged[step.model.ordinal] = step.span
            telling.append(span)
        elif span.operation in _AROUND:
            around.append(span)
        else:
            found.append(
                _compaction(span, span.sent.done_at, span.sent.attributes, calls, whereabouts, problems)
            )
            telling.append(span)
    known = {one.model_call for one in (*stated, *found)}
    for call in _first_flagged(calls, context, flagged):
        if call.ordinal not in known:
            found.append(_at(call.span, call.span.sent.started_at, call.ordinal, whereabouts, problems))
    summed = tree.around(telling)
    for span in sorted(around, key=tree.depth, reverse=True):
        if span in summed:
            continue
        found.append(_at(span, span.sent.started_at, 0, whereabouts, problems))
        for above in tree.ancestors(span):
            if above in summed:
                break  # as are all above it
            summed.add(above)
    return found


def _is_flagged(span: NormalizedSpan, problems: ParseIssues) -> bool:
    """Tell whether the flag is set in the attributes of a span or of the event with its details."""
    name, sent = semconv.CONVERSATION_COMPACTED, span.sent
    places = [sent.attributes]
    if sent.events or sent.logs:
        places += places_named(sent, DETAILS_EVENT)
    elif name not in sent.attributes:
        return False
    # Sorted, for the forms in which details come have an order each.
    said = {repr(place[name]): place[name] for place in places if name in place}
    flags = [Fields({name: said[each]}, sent.span_id, problems).flag(name) for each in sorted(said)]
    return any(flags)


def _first_flagged(
    calls: Sequence[ModelCall], context: Sequence[ContextUse], flagged: dict[int, NormalizedSpan]
) -> Iterator[ModelCall]:
    """Yield the flagged calls whose call before, in the context or of the agent, is not flagged."""
    latest: dict[str | None, int] = {}
    for call, use in zip(calls, context, strict=True):
        agent = call.span.agent_name
        before = use.goes_on or latest.get(agent, 0)
        latest[agent] = call.ordinal
        if call.ordinal in flagged and before not in flagged:
            yield call


def _compaction(
    span: NormalizedSpan,
    at: int,
    attributes: Attributes,
    calls: Sequence[ModelCall],
    whereabouts: Whereabouts,
    problems: ParseIssues,
) -> Compaction:
    """Return a shortening that has a span or an event of its own."""
    fields = Fields(attributes, span.sent.span_id, problems)
    found = _at(span, at, _following(span, at, calls), whereabouts, problems)
    before, after = span.names.compaction_tokens or ("", "")
    return Compaction(found.event, None, fields.count(before), fields.count(after), found.model_call)


def _at(
    span: NormalizedSpan, at: int, model_call: int, whereabouts: Whereabouts, problems: ParseIssues
) -> Compaction:
    step = whereabouts.step(span, at)
    fields = Fields(span.sent.attributes, span.sent.span_id, problems)
    event = StatedEvent(
        semconv.CONVERSATION_COMPACTED,
        span,
        "",
        at,
        span.sent.arrived_at,
        step.number if step is not None else None,
        fields,
    )
    return Compaction(event, None, None, None, model_call)


def _following(span: NormalizedSpan, at: int, calls: Sequence[ModelCall]) -> int:
    """Return the ordinal of the first model call of the agent that began by then or later; 0 where there is none."""
    agent = span.agent_name
    following = (
        call.ordinal
        for call in calls
        if call.span.sent.started_at >= at and (agent is None or call.span.agent_name == agent)
    )
    return next(following, 0)
