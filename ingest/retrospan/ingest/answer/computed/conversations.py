"""Messages said in one run and produced in an earlier run of its conversation: the latest producer counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from retrospan.ingest.answer.computed.edges import Edge, Node
from retrospan.ingest.answer.computed.lookups import Lookups
from retrospan.ingest.answer.computed.walked_runs import WalkedRun, WalkedRuns


class _Producer(NamedTuple):
    at: str
    object: str
    run_id: str
    step: int | None


class _Conversation(NamedTuple):
    began: dict[str, str]
    """Start by run."""
    generations: dict[str, int]


class Conversations:
    """Finds these edges for a walk."""

    def __init__(self, lookups: Lookups, runs: WalkedRuns, *, down: bool) -> None:
        self._lookups = lookups
        self._runs = runs
        self._down = down
        self._known: dict[str, _Conversation] = {}

    def edges_from(self, nodes: Iterable[Node], own: Iterable[Edge]) -> Iterator[Edge]:
        """Yield the edges that leave these nodes; `own` are those by which their runs lead on."""
        asked: defaultdict[str, set[str]] = defaultdict(set)
        for conversation, message in self._unknown_producers(nodes) if not self._down else self._made(own):
            asked[conversation].add(message)
        self._learn(asked)
        wanted = set(nodes)
        for conversation, messages in asked.items():
            known = self._known[conversation]
            if len(known.began) < 2:
                continue
            for edge in self._edges(known, sorted(messages)):
                if edge.origin in wanted:
                    yield edge

    def _unknown_producers(self, nodes: Iterable[Node]) -> Iterator[tuple[str, str]]:
        for run_id, reference in nodes:
            run = self._runs.entered.get(run_id)
            if run is not None and run.conversation_id is not None and _is_unproduced(run, reference):
                yield run.conversation_id, reference

    def _made(self, own: Iterable[Edge]) -> Iterator[tuple[str, str]]:
        for edge in own:
            run = self._runs.entered.get(edge.run_id)
            says = edge.relation == "wasGeneratedBy" and edge.subject.startswith("message:")
            if says and run is not None and run.conversation_id is not None:
                yield run.conversation_id, edge.subject

    def _learn(self, conversations: Iterable[str]) -> None:
        unknown = sorted(set(conversations) - self._known.keys())
        if not unknown:
            return
        self._known |= {conversation: _Conversation({}, {}) for conversation in unknown}
        for conversation, run_id, generation, began_at in self._lookups.rows(
            "find_conversation_runs", {"conversations": unknown}
        ):
            self._known[conversation].began[run_id] = began_at
            self._known[conversation].generations[run_id] = generation

    def _edges(self, conversation: _Conversation, messages: list[str]) -> Iterator[Edge]:
        """Yield, of every run that holds one of these messages without having produced it, the latest producer."""
        run_ids = sorted(conversation.began)
        producers: defaultdict[str, list[_Producer]] = defaultdict(list)
        produced: set[Node] = set()
        for run_id, generation, subject, object_, step, at in self._lookups.rows(
            "find_producers", {"run_ids": run_ids, "messages": messages}
        ):
            if conversation.generations[run_id] == generation:
                producers[subject].append(_Producer(at, object_, run_id, step))
                produced.add((run_id, subject))
        if not producers:
            return
        hashes = [message.removeprefix("message:") for message in producers]
        held: list[list[Any]] = self._lookups.rows("find_holders", {"run_ids": run_ids, "hashes": hashes})
        for run_id, generation, hash_ in held:
            message = f"message:{hash_}"
            if conversation.generations[run_id] != generation or (run_id, message) in produced:
                continue
            began_at = conversation.began[run_id]
            earlier = [one for one in producers[message] if conversation.began[one.run_id] < began_at]
            if earlier:
                yield self._inferred(run_id, message, earlier)

    def _inferred(self, run_id: str, message: str, earlier: list[_Producer]) -> Edge:
        latest = max(earlier, key=lambda one: (one.at, one.object))
        steps = [one for one in earlier if one.step is not None]
        step = max(steps, key=lambda one: (one.at, one.object)).step if steps else None
        later, maker = (run_id, message), (latest.run_id, latest.object)
        origin, target = (maker, later) if self._down else (later, maker)
        what = (message, "wasGeneratedBy", latest.object, None, "inferred", latest.run_id)
        return Edge(origin, target, *what, step, latest.at)


def _is_unproduced(run: WalkedRun, reference: str) -> bool:
    return reference in run.messages and reference not in run.produced
