"""The provenance edges that programs state: derivations, uses of entities, and where observations come from."""

from __future__ import annotations

from collections.abc import Iterable

from retrospan.ingest.interpret.lineage.provenance import Edge
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.stated.events import StatedEvent
from retrospan.ingest.interpret.stated.observations import Observation, Use
from retrospan.schemas.attributes import DERIVATION, OBJECT, RELATION, ROLE, SUBJECT
from retrospan.schemas.references import entity_ref, observation_ref, span_ref, step_ref

RELATIONS = (
    "used",
    "wasGeneratedBy",
    "wasDerivedFrom",
    "wasInformedBy",
    "wasAttributedTo",
    "actedOnBehalfOf",
    "wasInvalidatedBy",
)
KINDS = ("run", "span", "step", "message", "output", "observation", "entity", "document")


def act_ref(run_id: str, step: int | None, span: NormalizedSpan) -> str:
    """Return the reference of the act that made a statement: its step, else its span."""
    if step is not None:
        return step_ref(run_id, step)
    return span_ref(span.sent.trace_id, span.sent.span_id)


def derived_edge(run_id: str, event: StatedEvent) -> Edge | None:
    """Return the edge that a `retrospan.derivation` event states."""
    fields = event.fields
    relation = fields.choice(RELATION, RELATIONS)
    if relation is None and not fields.has(RELATION):
        fields.refuse(RELATION, f"missing in the event {DERIVATION}")
    ends = []
    for name in (SUBJECT, OBJECT):
        reference = fields.required(name, DERIVATION)
        if reference is not None and reference.partition(":")[0] not in KINDS:
            fields.refuse(name, f"not a reference kind:id with a kind of {', '.join(KINDS)}")
            reference = None
        ends.append(reference)
    subject, object_ = ends
    if relation is None or subject is None or object_ is None:
        return None
    return Edge(subject, relation, object_, fields.text(ROLE), "stated", event.step, event.at)


def used_edge(run_id: str, use: Use) -> Edge:
    """Return that a step used an observation; where it does not name one, the entity. The role is the field."""
    used = (
        observation_ref(use.observation_id)
        if use.observation_id is not None
        else entity_ref(use.entity_type, use.entity_id)
    )
    return Edge(act_ref(run_id, use.step, use.span), "used", used, use.field, "stated", use.step, use.at)


def observed_edges(run_id: str, observations: Iterable[Observation]) -> list[Edge]:
    """Return which act generated each observation, and which entity is known by it, once for all its fields."""
    edges: dict[Edge, None] = {}
    for one in observations:
        act = act_ref(run_id, one.step, one.span)
        reference = observation_ref(one.observation_id)
        edges[Edge(reference, "wasGeneratedBy", act, None, "stated", one.step, one.said_at)] = None
        entity = entity_ref(one.entity_type, one.entity_id)
        edges[Edge(entity, "wasDerivedFrom", reference, None, "matched", one.step, one.said_at)] = None
    return list(edges)
