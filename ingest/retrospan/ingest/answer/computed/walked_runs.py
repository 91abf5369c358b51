"""The runs that a walk has entered, with their edges: each is read once, when the walk comes to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from retrospan.ingest.answer.computed.edges import Edge, Node, directed
from retrospan.ingest.answer.computed.lookups import Lookups, TooMuch, of_runs
from retrospan.schemas.references import VERSION_OF, message_ref, run_ref, step_ref

#: A walk enters no more runs.
MOST_RUNS = 1000

_Key = tuple[str, str, int]


@dataclass(slots=True)
class WalkedRun:
    """A run that the walk has entered."""

    run_id: str
    generation: int
    conversation_id: str | None
    began_at: str
    label: str
    messages: set[str] = field(default_factory=set[str])
    """References of the messages that it holds."""
    produced: set[str] = field(default_factory=set[str])
    """Those of which it says what generated them."""


class WalkedRuns:
    """Reads the runs that a walk enters, and keeps their edges by where the walk leaves."""

    def __init__(self, lookups: Lookups, start: str, *, down: bool) -> None:
        """`start` is the reference that was asked for: an entity leads to its observations only from there."""
        self._lookups = lookups
        self._start = start
        self._down = down
        self._edge = directed(down=down)
        self._by_origin: defaultdict[Node, set[Edge]] = defaultdict(set)
        self._namers: dict[str, list[str]] = {}
        self._tried: set[str] = set()
        self._found: dict[str, list[list[Any]]] = {}
        self.entered: dict[str, WalkedRun] = {}

    def find(self, run_ids: Collection[str]) -> list[list[Any]]:
        """Return the rows of some runs; each run is looked up once."""
        unknown = [run_id for run_id in run_ids if run_id not in self._found]
        if unknown:
            self._found |= {run_id: [] for run_id in unknown}
            for row in self._lookups.rows("find_runs", {"run_ids": unknown}):
                self._found[str(row[1])].append(row)
        return [row for run_id in run_ids for row in self._found[run_id]]

    def come_to(self, nodes: Iterable[Node]) -> set[Node]:
        """Enter every run that could say how the walk goes on from these nodes.

        Return the nodes of which some run was not entered, since there are too many.
        """
        named_by = {node: key for node in nodes if (key := _named_by(node))}
        self._look_up(named_by.values())
        wanted: dict[str, None] = {}
        for run_id, reference in nodes:
            if run_id:
                wanted[run_id] = None
            for namer in self._namers.get(named_by.get((run_id, reference), ""), ()):
                wanted[namer] = None
        fresh = sorted(run_id for run_id in wanted if run_id not in self._tried)
        room = max(MOST_RUNS - len(self._tried), 0)
        self._enter(fresh[:room])
        left_out = set(fresh[room:])
        return {
            node
            for node, key in named_by.items()
            if len(found := self._namers[key]) > MOST_RUNS or not left_out.isdisjoint(found)
        }

    def edges_from(self, nodes: Iterable[Node]) -> Iterator[Edge]:
        """Yield what the entered runs say, but for what is only known over several runs."""
        for node in nodes:
            yield from self._by_origin.get(node, ())

    def _look_up(self, references: Iterable[str]) -> None:
        unknown = sorted({reference for reference in references if reference not in self._namers})
        if not unknown:
            return
        side = "object" if self._down else "subject"
        found = self._lookups.rows(
            "find_namers", {"references": unknown, "side": side, "most": MOST_RUNS + 1}
        )
        self._namers |= {reference: [] for reference in unknown}
        for reference, run_id in found:
            self._namers[reference].append(run_id)

    def _enter(self, run_ids: Collection[str]) -> None:
        if not run_ids:
            return
        self._tried |= set(run_ids)
        current: dict[_Key, WalkedRun] = {}
        for row in self.find(run_ids):
            tenant, run_id, generation, conversation_id, began_at = row[:5]
            run = WalkedRun(run_id, generation, conversation_id, began_at, row[-1])
            current[tenant, run_id, generation] = self.entered[run_id] = run
        if not current:
            return
        asked = of_runs(
            sorted({key[1] for key in current}), sorted({run.generation for run in current.values()})
        )
        if self._read_edges(current, self._lookups.rows("read_edges", asked)) and not self._down:
            self.add_held(self._lookups.rows("read_held", {"run_ids": asked["run_ids"], "observations": []}))
        self._read_uses(
            current, self._lookups.rows("read_values", asked), self._lookups.rows("read_inputs", asked)
        )

    def _read_edges(self, current: dict[_Key, WalkedRun], rows: Iterable[list[Any]]) -> bool:
        """Return whether entities are used by their names."""
        by_name = False
        for tenant, run_id, generation, subject, relation, object_, role, evidence, step, at, place in rows:
            run = current.get((tenant, run_id, generation))
            if run is None:
                continue
            if relation == "wasGeneratedBy" and subject.startswith("message:"):
                run.produced.add(subject)
            by_name = by_name or object_.startswith("entity:")
            tells = subject.startswith("entity:") and object_.startswith("observation:")
            if role == VERSION_OF and evidence == "matched":
                # The document's name says so, and no run more than another that used it.
                self._add(self._edge(subject, relation, object_, role, evidence, "", None, None, place))
            elif not tells or subject == self._start:
                self._add(self._edge(subject, relation, object_, role, evidence, run_id, step, at, place))
        return by_name

    def _read_uses(
        self, current: dict[_Key, WalkedRun], values: Iterable[list[Any]], inputs: Iterable[list[Any]]
    ) -> None:
        """Every model call used each message of its input."""
        told: dict[_Key, dict[int, tuple[str, str]]] = defaultdict(dict)
        for tenant, run_id, generation, number, kind, hash_, role, *_ in values:
            run = current.get((tenant, run_id, generation))
            if run is None:
                continue
            told[tenant, run_id, generation][number] = (message_ref(hash_), role)
            if kind == "message":
                run.messages.add(message_ref(hash_))
        for tenant, run_id, generation, step, at, numbers in inputs:
            key = (tenant, run_id, generation)
            if key not in current:
                continue
            if step is None:
                raise TooMuch
            self._lookups.spend(len(numbers))
            subject, texts = step_ref(run_id, step), told[key]
            for number in numbers:
                if number in texts:
                    message, role = texts[number]
                    self._add(self._edge(subject, "used", message, role, "matched", run_id, step, at))

    def add_held(self, rows: Iterable[list[Any]]) -> list[Edge]:
        """Keep what held of entities when runs used them by name alone, and return it."""
        added = [
            self._edge(subject, "used", object_, role, "inferred", run_id, step, at)
            for subject, object_, role, run_id, step, at in rows
        ]
        for edge in added:
            self._add(edge)
        return added

    def _add(self, edge: Edge) -> None:
        self._by_origin[edge.origin].add(edge)


def _named_by(node: Node) -> str | None:
    """Return by which reference other runs name this node: a step goes by its run, a message by nothing."""
    run_id, reference = node
    if reference.startswith("message:"):
        return None
    return run_ref(run_id) if run_id else reference
