"""What calls did to the world, from the attributes `retrospan.effect*` of their spans."""

from __future__ import annotations

from dataclasses import dataclass

from retrospan.ingest.interpret.assembly.calls import Calls
from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.stated.events import Whereabouts, time_of
from retrospan.ingest.interpret.stated.fields import Fields
from retrospan.ingest.json_text import write_json
from retrospan.schemas.attributes import ATTEMPT, COMPENSATES, EFFECT, EFFECT_STATUS, IDEMPOTENCY_KEY

EFFECTS = ("none", "read", "write", "destructive")
STATUSES = ("planned", "executed", "skipped", "failed", "unknown")


@dataclass(frozen=True, slots=True)
class Effect:
    reading: NormalizedSpan
    step: int | None
    tool_call: int | None  # ordinal
    tool_name: str
    effect: str | None
    status: str
    idempotency_key: str | None
    compensates: str | None  # span id
    attempt: int | None
    at: int


def read_effects(tree: Tree, calls: Calls, whereabouts: Whereabouts, problems: ParseIssues) -> list[Effect]:
    """Return the effects in the order of their spans.

    A span that says only what a span inside it says again, of the same key, is the same effect: the inner one counts.
    """
    ordinals = {id(tool): ordinal for ordinal, tool in enumerate(calls.tools, start=1)}
    names = (EFFECT, EFFECT_STATUS, IDEMPOTENCY_KEY, COMPENSATES)
    telling = [r for r in tree.readings if not r.is_told and any(name in r.span.attributes for name in names)]
    repeated = _repeated(tree, telling)
    found = []
    for reading in telling:
        if id(reading) in repeated:
            continue
        fields = Fields(reading.span.attributes, reading.span.span_id, problems)
        step = whereabouts.step(reading, time_of(reading))
        tool = step.tool if step is not None else None
        found.append(
            Effect(
                reading,
                step.number if step else None,
                ordinals.get(id(tool)) if tool else None,
                tool.name if tool else reading.tool_name or reading.span.name,
                fields.choice(EFFECT, EFFECTS),
                fields.choice(EFFECT_STATUS, STATUSES) or _status(reading),
                fields.text(IDEMPOTENCY_KEY),
                _span_id(fields),
                fields.count(ATTEMPT),
                time_of(reading),
            )
        )
    return found


def _repeated(tree: Tree, telling: list[NormalizedSpan]) -> set[int]:
    """Return the spans that tell what one inside them tells again: of the spans with one key, those around others."""
    tells = {id(reading) for reading in telling}
    # The spans that are open on the way down and tell, by key: the innermost last.
    open_spans: dict[str, list[NormalizedSpan]] = {}
    repeated: set[int] = set()
    for reading, enters in tree.walk():
        if id(reading) not in tells:
            continue
        key = write_json(reading.span.attributes.get(IDEMPOTENCY_KEY))
        around = open_spans.setdefault(key, [])
        if not enters:
            around.pop()
            continue
        if around:
            repeated.add(id(around[-1]))
        around.append(reading)
    return repeated


def _status(reading: NormalizedSpan) -> str:
    """Return what follows from the span alone: a call that ended well was executed, one that failed may have been."""
    ended = reading.span.ended_at and not reading.interrupted
    return "executed" if ended and not reading.failed else "unknown"


def _span_id(fields: Fields) -> str | None:
    said = fields.text(COMPENSATES)
    if said is None:
        return None
    span_id = said.lower()
    if len(span_id) == 16 and all(digit in "0123456789abcdef" for digit in span_id):
        return span_id
    fields.refuse(COMPENSATES, "not the 16 hex digits of a span id")
    return None
