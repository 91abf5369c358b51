"""What calls did to the world, from the attributes `retrospan.effect*` of their spans."""

from __future__ import annotations

from dataclasses import dataclass

from retrospan.ingest.interpret.calls.calls import Calls
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.stated.events import Whereabouts
from retrospan.ingest.interpret.stated.fields import Fields
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.json_text import write_json
from retrospan.schemas.attributes import ATTEMPT, COMPENSATES, EFFECT, EFFECT_STATUS, IDEMPOTENCY_KEY

EFFECTS = ("none", "read", "write", "destructive")
STATUSES = ("planned", "executed", "skipped", "failed", "unknown")
#: Attributes that only a statement of an effect has.
_TELLING = (EFFECT, EFFECT_STATUS, IDEMPOTENCY_KEY, COMPENSATES)


@dataclass(frozen=True, slots=True)
class StatedEffect:
    span: NormalizedSpan
    step: int | None
    tool_call: int | None  # ordinal
    tool_name: str
    effect: str | None
    status: str
    idempotency_key: str | None
    compensates: str | None  # span id
    attempt: int | None
    at: int


def read_effects(
    tree: Tree, calls: Calls, whereabouts: Whereabouts, problems: ParseIssues
) -> list[StatedEffect]:
    """Return the effects in the order of their spans.

    If a span and one inside it state the same key, it is one effect: the inner one counts.
    """
    telling = [
        span
        for span in tree.spans
        if not span.is_told and not span.sent.attributes.keys().isdisjoint(_TELLING)
    ]
    if not telling:
        return []
    ordinals = {tool: ordinal for ordinal, tool in enumerate(calls.tools, start=1)}
    repeated = _repeated(tree, telling)
    found: list[StatedEffect] = []
    for span in telling:
        if span in repeated:
            continue
        fields = Fields(span.sent.attributes, span.sent.span_id, problems)
        step = whereabouts.step(span, span.sent.done_at)
        tool = step.tool if step is not None else None
        found.append(
            StatedEffect(
                span,
                step.number if step else None,
                ordinals.get(tool) if tool else None,
                tool.name if tool else span.tool_name or span.sent.name,
                fields.choice(EFFECT, EFFECTS),
                _status(span, fields.choice(EFFECT_STATUS, STATUSES)),
                fields.text(IDEMPOTENCY_KEY),
                _span_id(fields),
                fields.count(ATTEMPT),
                span.sent.filled_at or span.sent.done_at if span.is_unfinished else span.sent.done_at,
            )
        )
    return found


def _repeated(tree: Tree, telling: list[NormalizedSpan]) -> set[NormalizedSpan]:
    """Return the spans whose statement one inside them repeats: of the spans with one key, the enclosing ones."""
    tells = {*telling}
    # The spans that are open on the way down and tell, by key: the innermost last.
    open_spans: dict[str, list[NormalizedSpan]] = {}
    repeated: set[NormalizedSpan] = set()
    for span, enters in tree.walk():
        if span not in tells:
            continue
        key = write_json(span.sent.attributes.get(IDEMPOTENCY_KEY))
        around = open_spans.setdefault(key, [])
        if not enters:
            around.pop()
            continue
        if around:
            repeated.add(around[-1])
        around.append(span)
    return repeated


def _status(span: NormalizedSpan, said: str | None) -> str:
    """Return what the program says, else what follows from the span alone: a call that ended well was executed, one that
    failed or was given up may have been, one that was refused was not. What was planned, and failed or never ended, may have
    been executed as well."""
    if said is not None and not (said == "planned" and (span.is_unfinished or span.failed)):
        return said
    if span.refused and not span.has_result:
        return "skipped"
    ended = span.sent.ended_at and not (span.interrupted or span.given_up)
    return "executed" if ended and not span.failed else "unknown"


def _span_id(fields: Fields) -> str | None:
    said = fields.text(COMPENSATES)
    if said is None:
        return None
    span_id = said.lower()
    if len(span_id) == 16 and all(digit in "0123456789abcdef" for digit in span_id):
        return span_id
    fields.refuse(COMPENSATES, "not the 16 hex digits of a span id")
    return None
