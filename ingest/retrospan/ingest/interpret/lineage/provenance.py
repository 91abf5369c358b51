"""The provenance edges of one run. What calls used follows from their inputs and is read from there by the view."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from retrospan.ingest.interpret.calls.calls import messages_once
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.steps.values import Values
from retrospan.schemas.attributes import OUTPUT_ID
from retrospan.schemas.hashing import hash_of
from retrospan.schemas.references import VERSION_OF, message_ref, output_ref, step_ref


class Edge(NamedTuple):
    """One edge of a run; equal ones are one."""

    subject: str
    relation: str
    object: str
    role: str | None
    evidence: str  # stated | matched | inferred
    step: int | None
    at: int
    place: str | None = None  # where in the object

    @property
    def is_version(self) -> bool:
        """Tell whether it leads from a document to what the same is called without its version or its store."""
        return self.role == VERSION_OF and self.evidence == "matched"


def read_edges(run_id: str, steps: list[RunStep], values: Values) -> list[Edge]:
    """Return the edges of a run's steps, each once.

    An answer wasGeneratedBy its model call; a tool's execution wasInformedBy the model call that asked for it; a
    tool's answer in a prompt wasGeneratedBy the execution with its call id, of several the latest one before that
    returned the same, else the latest; without an id by the latest one before that returned the same. User and system
    messages have no producer.
    """
    edges: list[Edge] = []
    by_model = {step.model.ordinal: step for step in steps if step.model is not None}
    by_call_id: dict[str, list[RunStep]] = {}
    for step in steps:
        if step.tool is not None and step.tool.call_id:
            by_call_id.setdefault(step.tool.call_id, []).append(step)
    results = _Results(steps)
    generated: set[str] = set()
    for step in steps:
        here, number, at = step_ref(run_id, step.number), step.number, step.span.sent.done_at
        if step.model is not None:
            for number_of_message in step.model.output_values:
                said = message_ref(values.hash(number_of_message))
                generated.add(said)
                edges.append(Edge(said, "wasGeneratedBy", here, "answer", "matched", number, at))
        elif step.tool is not None and step.tool.asked is not None:
            asking = by_model.get(step.tool.asked.by)
            if asking is not None:
                evidence = "matched" if step.tool.matched_by_id else "inferred"
                source = step_ref(run_id, asking.number)
                edges.append(Edge(here, "wasInformedBy", source, "asked_by", evidence, number, at))
        output = step.span.sent.attributes.get(OUTPUT_ID)
        if isinstance(output, str) and output:
            edges.append(Edge(output_ref(output), "wasGeneratedBy", here, None, "stated", number, at))
    for call, message in messages_once(step.model for step in by_model.values() if step.model is not None):
        if not parts_of(message, "tool_call_response"):
            continue
        said = message_ref(values.hash(values.message(message)))
        if said in generated:
            continue
        for producer, evidence in _producers(message, by_model[call.ordinal], results, by_call_id):
            generated.add(said)
            number, at = producer.number, producer.span.sent.done_at
            edges.append(
                Edge(said, "wasGeneratedBy", step_ref(run_id, number), "result", evidence, number, at)
            )
    return list(dict.fromkeys(edges))


def _producers(
    message: Message, use: RunStep, results: _Results, by_call_id: dict[str, list[RunStep]]
) -> Iterator[tuple[RunStep, str]]:
    for part in parts_of(message, "tool_call_response"):
        asked = by_call_id.get(part.get("id", ""), [])
        if asked:
            yield _returning(part, asked, use), "matched"
        elif part.get("response") not in (None, ""):
            producer = results.latest(part.get("response"), use.number)
            if producer is not None:
                yield producer, "inferred"


def _returning(part: Part, asked: Sequence[RunStep], use: RunStep) -> RunStep:
    """Return which of the executions with one call id a prompt tells the result of: the last one before it that returned
    just that, else the last one before it."""
    if len(asked) == 1:
        return asked[0]
    before = [step for step in asked if step.number < use.number] or asked
    if "response" in part:
        said = hash_of(part["response"])
        same = (step for step in reversed(before) if step.tool and hash_of(step.tool.result) == said)
        return next(same, before[-1])
    return before[-1]


class _Results:
    """Which steps returned a value, as their own spans say. The values are hashed when one is first asked for."""

    def __init__(self, steps: list[RunStep]) -> None:
        self._steps = steps
        self._hashed: dict[str, list[RunStep]] | None = None

    def latest(self, value: object, before: int) -> RunStep | None:
        """Return the last step before a number that returned the value."""
        said = self._by_hash().get(hash_of(value), [])
        place = bisect_left(said, before, key=lambda step: step.number)
        return said[place - 1] if place else None

    def _by_hash(self) -> dict[str, list[RunStep]]:
        if self._hashed is None:
            self._hashed = {}
            for step in self._steps:
                if step.tool is not None and step.tool.result_source == "span":
                    self._hashed.setdefault(hash_of(step.tool.result), []).append(step)
        return self._hashed
