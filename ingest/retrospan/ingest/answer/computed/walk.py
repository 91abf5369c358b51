"""`provenance`: where a thing came from, or what came from it, level by level.

The walk enters a run when it comes to something that the run names, and reads it whole, once; so it costs what lies on
its way, whatever else is stored. The view of the same name is what it must equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from retrospan.ingest.answer.computed.conversations import Conversations
from retrospan.ingest.answer.computed.edges import Edge, Node, sort_key, step_number
from retrospan.ingest.answer.computed.lookups import Lookups
from retrospan.ingest.answer.computed.walk_labels import labels_of
from retrospan.ingest.answer.computed.walked_runs import WalkedRuns
from retrospan.schemas.store import Store

#: The rows of an answer; and how far a walk goes.
MOST_ROWS = 10_000
DEEPEST = 500


def provenance(store: Store, values: Sequence[str]) -> list[Sequence[object]]:
    """Return the rows of the view, for the values `ref`, `depth` and `direction`.

    Raises:
        TooMuch: the walk would hold too much in this process.
    """
    ref, depth, direction = values
    walk = _Walk(Lookups(store), ref, min(int(depth), DEEPEST), down=direction == "down")
    return list(walk.rows())


class _Walk:
    def __init__(self, lookups: Lookups, ref: str, depth: int, *, down: bool) -> None:
        self._lookups = lookups
        self._ref = ref
        self._depth = depth
        self._down = down
        self._runs = WalkedRuns(lookups, ref, down=down)
        self._conversations = Conversations(lookups, self._runs, down=down)
        self._cut: set[Node] = set()

    def rows(self) -> Iterator[Sequence[object]]:
        levels = self._levels()
        goes_on = {edge.origin for edges in levels[self._depth + 1 :] for edge in edges}
        found = [(depth, edge) for depth, edges in enumerate(levels[: self._depth + 1]) for edge in edges]
        shown = found[:MOST_ROWS]
        deepest = shown[-1][0] if shown else 0
        labels = labels_of(self._lookups, self._runs, {edge.target for _, edge in shown})
        for depth, edge in shown:
            truncated = (
                (depth == deepest and len(found) > MOST_ROWS)
                or (depth == self._depth and edge.target in goes_on)
                or edge.target in self._cut
            )
            label = labels.get(edge.target, "")
            yield (
                depth,
                edge.subject,
                edge.relation,
                edge.object,
                edge.evidence,
                edge.run_id,
                edge.step,
                edge.at,
                label,
                truncated,
                edge.role,
                edge.place,
            )

    def _levels(self) -> list[list[Edge]]:
        """Return the edges of each level, in order, and of one level more than was asked for."""
        frontier = self._starts()
        nowhere = ("", "")
        first = [
            Edge(nowhere, node, self._ref, "", node[1], None, "", node[0], None, None) for node in frontier
        ]
        levels = [sorted(first, key=sort_key)]
        seen, total = set(frontier), len(first)
        while frontier and len(levels) <= self._depth + 1 and total <= MOST_ROWS:
            edges = set(self._edges_from(frontier))
            if not edges:
                break
            levels.append(sorted(edges, key=sort_key))
            total += len(edges)
            frontier = {edge.target for edge in edges} - seen
            seen |= frontier
        return levels

    def _edges_from(self, nodes: set[Node]) -> Iterator[Edge]:
        self._cut |= self._runs.come_to(nodes)
        if self._down:
            self._find_users(nodes)
        own = list(self._runs.edges_from(nodes))
        yield from own
        yield from self._conversations.edges_from(nodes, own)

    def _find_users(self, nodes: Iterable[Node]) -> None:
        """Find who used these observations by the names of their entities."""
        ids = [_id(reference) for _, reference in nodes if reference.startswith("observation:")]
        if ids:
            self._runs.add_held(self._lookups.rows("read_held", {"run_ids": [], "observations": ids}))

    def _starts(self) -> set[Node]:
        ref = self._ref
        kind, _, rest = ref.partition(":")
        found: set[Node] = set()
        if kind == "message":
            return {(str(row[0]), ref) for row in self._lookups.rows("find_runs_of_message", {"hash": rest})}
        if kind == "step":
            number = step_number(ref)
            if number is None:
                return found
            of = {"run_id": unquote(rest.rpartition("/")[0], errors="surrogateescape")}
            return {(str(row[0]), ref) for row in self._lookups.rows("find_step", {**of, "step": number})}
        if kind == "run":
            run_id = unquote(rest, errors="surrogateescape")
            for row in self._runs.find([run_id]):
                found.add((run_id, str(row[5]) if row[5] is not None else ref))
        if kind == "span" and "/" in rest:
            asked = {"trace_id": rest.partition("/")[0], "span_id": rest.rpartition("/")[2]}
            found |= {
                (str(run_id), str(step)) for run_id, step in self._lookups.rows("find_steps_of_span", asked)
            }
        if self._lookups.rows("find_thing", {"reference": ref}):
            found.add((unquote(rest, errors="surrogateescape") if kind == "run" else "", ref))
        return found


def _id(reference: str) -> str:
    return unquote(reference.partition(":")[2], errors="surrogateescape")
