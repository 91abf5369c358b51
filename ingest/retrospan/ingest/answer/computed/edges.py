"""What a walk goes over: nodes, and edges between them in the direction of the walk. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol, TypeAlias
from urllib.parse import unquote

#: (run, reference). A message belongs to the run that holds the edge, a run and a step to the run they name; what all
#: runs share has the run ''.
Node: TypeAlias = tuple[str, str]

_OF_A_RUN = re.compile(r"(?:run:.|step:.*/[0-9]+\Z)", re.DOTALL)
_STEP_NUMBER = re.compile(r"/0*([0-9]{1,10})\Z")
_MOST_STEPS = 2**32
_RUN = re.compile(r"(?:run|step):(.*?)(?:/[0-9]+)?\Z", re.DOTALL)


class Edge(NamedTuple):
    """An edge as it is walked, from `origin` to `target`."""

    origin: Node
    target: Node
    subject: str
    relation: str
    object: str
    role: str | None
    evidence: str
    run_id: str
    step: int | None
    at: str | None
    place: str | None = None


class Directed(Protocol):
    """Makes an edge of the walk of what a run says: of an edge as it is stored, which has no direction."""

    def __call__(
        self,
        subject: str,
        relation: str,
        object_: str,
        role: str | None,
        evidence: str,
        run_id: str,
        step: int | None,
        at: str | None,
        place: str | None = None,
        /,
    ) -> Edge: ...


def node_of(reference: str, run_id: str) -> Node:
    """Return the node of a reference that an edge of this run names."""
    if reference.startswith("message:"):
        return run_id, reference
    if _OF_A_RUN.match(reference):
        named = _RUN.match(reference)
        return unquote(named[1], errors="surrogateescape") if named else "", reference
    return "", reference


def step_number(reference: str) -> int | None:
    """Return the number at the end of a reference of a step; None for what no step has as its number."""
    found = _STEP_NUMBER.search(reference)
    number = int(found[1]) if found else 0
    return number if 0 < number < _MOST_STEPS else None


def directed(*, down: bool) -> Directed:
    """Return what makes an edge of the walk of what a run says."""

    def edge(
        subject: str,
        relation: str,
        object_: str,
        role: str | None,
        evidence: str,
        run_id: str,
        step: int | None,
        at: str | None,
        place: str | None = None,
        /,
    ) -> Edge:
        later, earlier = node_of(subject, run_id), node_of(object_, run_id)
        origin, target = (earlier, later) if down else (later, earlier)
        return Edge(origin, target, subject, relation, object_, role, evidence, run_id, step, at, place)

    return edge


def sort_key(edge: Edge) -> tuple[object, ...]:
    """Return by what the edges of a level are ordered; what is unknown comes last."""
    unknown = [(value is None, "" if value is None else value) for value in (edge.role, edge.at, edge.place)]
    step = (edge.step is None, edge.step or 0)
    return (*edge[:5], unknown[0], edge.evidence, edge.run_id, step, *unknown[1:])
