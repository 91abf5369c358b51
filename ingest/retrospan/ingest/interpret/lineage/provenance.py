"""The provenance edges of one run. What calls used follows from their inputs and is read from there by the view."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from retrospan.ingest.interpret.assembly.steps import Step
from retrospan.ingest.interpret.assembly.values import Values
from retrospan.ingest.interpret.normalize.messages import Message, parts_of
from retrospan.schemas.attributes import OUTPUT_ID
from retrospan.schemas.hashing import hash_of
from retrospan.schemas.references import message_ref, output_ref, step_ref


@dataclass(frozen=True, slots=True)
class Edge:
    subject: str
    relation: str
    object: str
    role: str | None
    evidence: str  # stated | matched | inferred
    step: int | None
    at: int


def read_edges(run_id: str, steps: list[Step], values: Values) -> list[Edge]:
    """Return the edges of a run's steps, each once.

    An answer wasGeneratedBy its model call; a tool's execution wasInformedBy the model call that asked for it; a
    tool's answer in a prompt wasGeneratedBy the execution with its call id, else by the latest one before that
    returned the same. User and system messages have no producer.
    """
    edges: dict[Edge, None] = {}
    by_model = {step.model.ordinal: step for step in steps if step.model is not None}
    by_call_id = {step.tool.call_id: step for step in steps if step.tool is not None and step.tool.call_id}
    results = _Results(steps)
    generated: set[str] = set()
    for step in steps:
        here = step_ref(run_id, step.number)
        at = step.reading.span.ended_at or step.reading.span.started_at
        if step.model is not None:
            for message in step.reading.output:
                said = message_ref(values.hash(values.message(message, step.model.ordinal)))
                generated.add(said)
                edges[Edge(said, "wasGeneratedBy", here, "answer", "matched", step.number, at)] = None
        elif step.tool is not None and step.tool.asked is not None:
            asking = by_model.get(step.tool.asked.by)
            if asking is not None:
                evidence = "matched" if step.tool.matched_by_id else "inferred"
                edges[
                    Edge(
                        here,
                        "wasInformedBy",
                        step_ref(run_id, asking.number),
                        "asked_by",
                        evidence,
                        step.number,
                        at,
                    )
                ] = None
        output = step.reading.span.attributes.get(OUTPUT_ID)
        if isinstance(output, str) and output:
            edges[Edge(output_ref(output), "wasGeneratedBy", here, None, "stated", step.number, at)] = None
    for step, message in _tool_messages(steps):
        said = message_ref(values.hash(values.message(message)))
        if said in generated:
            continue
        for producer, evidence in _producers(message, step, results, by_call_id):
            generated.add(said)
            at = producer.reading.span.ended_at or producer.reading.span.started_at
            edges[
                Edge(
                    said,
                    "wasGeneratedBy",
                    step_ref(run_id, producer.number),
                    "result",
                    evidence,
                    producer.number,
                    at,
                )
            ] = None
    return list(edges)


def _tool_messages(steps: list[Step]) -> Iterator[tuple[Step, Message]]:
    """Yield the tool messages that model calls were given, with the call that was given each first."""
    seen: set[int] = set()
    for step in steps:
        for message in step.model.input if step.model is not None else []:
            if id(message) not in seen:
                seen.add(id(message))
                if parts_of(message, "tool_call_response"):
                    yield step, message


def _producers(
    message: Message, use: Step, results: _Results, by_call_id: dict[str, Step]
) -> Iterator[tuple[Step, str]]:
    for part in parts_of(message, "tool_call_response"):
        call_id = part.get("id")
        if isinstance(call_id, str) and call_id in by_call_id:
            yield by_call_id[call_id], "matched"
        elif part.get("response") not in (None, ""):
            producer = results.latest(part.get("response"), use.number)
            if producer is not None:
                yield producer, "inferred"


class _Results:
    """Which steps returned a value, as their own spans say. The values are hashed when one is first asked for."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps

    def latest(self, value: object, before: int) -> Step | None:
        """Return the last step before a number that returned the value."""
        said = self._by_hash.get(hash_of(value), [])
        place = bisect_left(said, before, key=lambda step: step.number)
        return said[place - 1] if place else None

    @cached_property
    def _by_hash(self) -> dict[str, list[Step]]:
        found: dict[str, list[Step]] = {}
        for step in self._steps:
            if step.tool is not None and step.tool.result_source == "span":
                found.setdefault(hash_of(step.tool.result), []).append(step)
        return found
