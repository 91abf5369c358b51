"""Where the prompts of two steps part: what one adds to the prompt before it, and what it leaves out of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from retrospan.ingest.answer.computed.compared_runs import ComparedRuns


class Prompt(NamedTuple):
    """The messages of a prompt and of the one before it by the same agent, as numbers of values."""

    messages: Sequence[int] = ()
    before: Sequence[int] = ()

    @property
    def kept(self) -> int:
        """With how many messages both begin."""
        count = 0
        for x, y in zip(self.messages, self.before, strict=False):
            if x != y:
                break
            count += 1
        return count


#: Two messages side by side, as numbers; 0 where one prompt has ended.
Beside = tuple[int, int]


class ComparedPrompts:
    """The prompts of two runs, read at the first question."""

    def __init__(self, runs: ComparedRuns, a: str, b: str) -> None:
        self._runs = runs
        self._a, self._b = a, b
        self._prompts: dict[str, dict[int, Prompt]] | None = None

    def learn(self, steps: Sequence[tuple[int, int]]) -> None:
        """Look up what is needed to compare the prompts of these pairs of steps."""
        wanted: dict[str, set[int]] = {self._a: set(), self._b: set()}
        for step_a, step_b in steps:
            a, b = self._prompt(self._a, step_a), self._prompt(self._b, step_b)
            sides = [(a.messages, b.messages), (a.before, b.before), *_parts(a, b)]
            for in_a, in_b in (pair for side in sides for pair in _beside(*side)):
                if self._hash(self._a, in_a) != self._hash(self._b, in_b):
                    wanted[self._a] |= {in_a} - {0}
                    wanted[self._b] |= {in_b} - {0}
        self._runs.learn_keys(wanted)

    def odd_message(self, step_a: int, step_b: int) -> Beside:
        """Return the first messages that differ; zeros if none do.

        Prompts with equal ones before them are compared as a whole.
        """
        a, b = self._prompt(self._a, step_a), self._prompt(self._b, step_b)
        begin_alike = len(a.before) == len(b.before) and not any(
            self._differ(*pair) for pair in _beside(a.before, b.before)
        )
        sides = [(a.messages, b.messages)] if begin_alike else _parts(a, b)
        return next((pair for side in sides for pair in _beside(*side) if self._differ(*pair)), (0, 0))

    def _differ(self, in_a: int, in_b: int) -> bool:
        if not in_a or not in_b:
            return in_a != in_b
        if self._hash(self._a, in_a) == self._hash(self._b, in_b):
            return False
        return self._runs.key(self._a, in_a) != self._runs.key(self._b, in_b)

    def _hash(self, run_id: str, number: int) -> str:
        return self._runs.values(run_id)[number].hash if number else ""

    def _prompt(self, run_id: str, step: int) -> Prompt:
        if self._prompts is None:
            self._prompts = {}
            for run, prompts in self._runs.prompts().items():
                last: dict[str, Sequence[int]] = {}
                self._prompts[run] = {}
                for at, agent, messages in prompts:
                    self._prompts[run][at] = Prompt(messages, last.get(agent, ()))
                    last[agent] = messages
        return self._prompts[run_id].get(step, Prompt())


def _parts(a: Prompt, b: Prompt) -> list[tuple[Sequence[int], Sequence[int]]]:
    """Return what two prompts add, and what they leave out."""
    return [
        (a.messages[a.kept :], b.messages[b.kept :]),
        (a.before[a.kept :], b.before[b.kept :]),
    ]


def _beside(a: Sequence[int], b: Sequence[int]) -> Iterator[Beside]:
    return zip_longest(a, b, fillvalue=0)
