"""Two runs as they are compared: the facts of their steps, and their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from retrospan.ingest.answer.computed.compared_steps import ModelCall, Step, ToolCall, Value
from retrospan.ingest.answer.computed.lookups import NUMBERS, Lookups, TooMuch, of_runs
from retrospan.schemas.store import Parameters

#: A list is shown, and compared without its ids, by so many of its elements.
SHOWN_ELEMENTS = 20


class RunFacts(NamedTuple):
    """What is compared of a run as a whole."""

    tenant: str
    run_id: str
    generation: int
    input: str | None
    input_hash: str | None
    outcome: str
    agent_version: str | None
    service_version: str | None
    parent_run_id: str
    parent_link: str
    fork_step: int
    patch: str | None


@dataclass(slots=True)
class ComparedRun:
    """One of the two."""

    facts: RunFacts
    steps: list[Step] = field(default_factory=list[Step])
    tools: dict[int, ToolCall] = field(default_factory=dict[int, ToolCall])
    models: dict[int, ModelCall] = field(default_factory=dict[int, ModelCall])


class ComparedRuns:
    """Reads two runs. `runs` is by run id, with both of them or, where one does not exist, with none."""

    def __init__(self, lookups: Lookups, a: str, b: str) -> None:
        self._lookups = lookups
        self._values: dict[str, dict[int, Value]] | None = None
        self._keys: dict[tuple[str, int], str] = {}
        found = [RunFacts(*row) for row in lookups.rows("find_compared_runs", {"run_ids": sorted({a, b})})]
        if len({facts.run_id for facts in found}) < len(found):
            raise TooMuch  # runs of several tenants under one id: the view says what it makes of them
        self.runs = {facts.run_id: ComparedRun(facts) for facts in found}
        if self.runs.keys() != {a, b}:
            self.runs = {}
            return
        generations = {run.facts.generation for run in self.runs.values()}
        self._asked = of_runs(sorted(self.runs), sorted(generations))
        for run, row in self._current("read_tool_calls"):
            run.tools[row[2]] = ToolCall(*row[3:])
        for run, row in self._current("read_model_calls"):
            run.models[row[2]] = ModelCall(*row[3:])
        self._compare_answers_without_ids()
        for run, row in self._current("read_steps"):
            run.steps.append(_step(run, row))

    @property
    def agents_known(self) -> bool:
        """Whether each of two runs knows an agent of a model call."""
        knowing = [
            run
            for run in self.runs.values()
            if any(s.step_kind == "model" and s.agent_name for s in run.steps)
        ]
        return len(knowing) == 2

    def values(self, run_id: str) -> Mapping[int, Value]:
        """Return the values of a run by number."""
        if self._values is None:
            self._values = {run: {} for run in self.runs}
            for row in self._lookups.rows("read_values", self._asked):
                if self.runs[row[1]].facts.generation == row[2]:
                    self._values[row[1]][row[3]] = Value(*row[4:])
        return self._values[run_id]

    def prompts(self) -> Mapping[str, Sequence[tuple[int, str, list[int]]]]:
        """Return by run the step, the agent and the numbers of the messages of each model step that was given any."""
        found: dict[str, dict[int, tuple[str, list[int]]]] = {run: {} for run in self.runs}
        asked: Parameters = {**self._asked, "most": self._lookups.left * NUMBERS}
        for run_id, generation, step, agent, numbers in self._lookups.rows("read_prompts", asked):
            if self.runs[run_id].facts.generation != generation:
                continue
            if step is None:
                raise TooMuch
            self._lookups.spend(len(numbers) // NUMBERS)
            known = self.values(run_id)
            found[run_id].setdefault(step, (agent, []))[1].extend(n for n in numbers if n in known)
        return {
            run_id: [(step, *of_step[step]) for step in sorted(of_step) if of_step[step][1]]
            for run_id, of_step in found.items()
        }

    def learn_keys(self, wanted: Mapping[str, Iterable[int]]) -> None:
        """Look up what these values are compared by; `wanted` are numbers by run."""
        for run_id, number, key in self._of_values("read_keys", wanted):
            self._keys[run_id, number] = key

    def key(self, run_id: str, number: int) -> str:
        """Return what a value is compared by: its hash, or what it is without ids if that was learnt."""
        return self._keys.get((run_id, number)) or self.values(run_id)[number].hash

    def list_key(self, run_id: str, number: int) -> str:
        """Return the same for a list: short ones by their elements."""
        value = self.values(run_id)[number]
        elements = [n for n in value.elements if n in self.values(run_id)]
        if value.length > SHOWN_ELEMENTS or not any((run_id, n) in self._keys for n in elements):
            return value.hash
        return ",".join(self.key(run_id, n) for n in elements)

    def texts(self, wanted: Mapping[str, Iterable[int]]) -> Mapping[tuple[str, int], str]:
        """Return values as short texts, by run and number; `wanted` are numbers by run."""
        return {(run_id, number): text for run_id, number, text in self._of_values("read_texts", wanted)}

    def _compare_answers_without_ids(self) -> None:
        """Give each answer that has ids the hash of what it is without them."""
        said = {
            run_id: {n for call in run.models.values() for n in call.output_values}
            for run_id, run in self.runs.items()
        }
        self.learn_keys(said)
        if not self._keys:
            return
        # Of what is equal but for the form of its JSON, one key.
        keys: dict[str, str] = {}
        for run_id, numbers in said.items():
            for n in numbers & self.values(run_id).keys():
                own, key = self.values(run_id)[n].hash, self.key(run_id, n)
                keys[own] = min(key, keys.get(own, key))
        for run_id, run in self.runs.items():
            for ordinal, call in run.models.items():
                if any((run_id, n) in self._keys for n in call.output_values):
                    hashes = [
                        self.values(run_id)[n].hash for n in call.output_values if n in self.values(run_id)
                    ]
                    run.models[ordinal] = call._replace(output_hash=",".join(keys[own] for own in hashes))

    def _of_values(self, lookup: str, wanted: Mapping[str, Iterable[int]]) -> Iterator[tuple[str, int, str]]:
        pairs = {(run_id, number) for run_id, numbers in wanted.items() for number in numbers}
        if not pairs:
            return
        asked: Parameters = {**self._asked, "numbers": sorted({number for _, number in pairs})}
        for run_id, generation, number, text in self._lookups.rows(lookup, asked):
            if self.runs[run_id].facts.generation == generation and (run_id, number) in pairs:
                yield run_id, number, text

    def _current(self, lookup: str) -> Iterator[tuple[ComparedRun, list[Any]]]:
        for row in self._lookups.rows(lookup, self._asked):
            run = self.runs[row[0]]
            if run.facts.generation == row[1]:
                yield run, row


def _step(run: ComparedRun, row: Sequence[Any]) -> Step:
    kind, name, agent, status, model_call, tool_call, state_hash, keys, values = row[3:]
    return Step(
        step_kind=kind,
        own_name=name,
        agent_name=agent or "",
        status=status,
        tool=run.tools.get(tool_call),
        model=run.models.get(model_call, ModelCall()),
        state_hash=state_hash,
        state=list(zip(keys, values, strict=True)),
        asked_model=model_call != 0,
        called_tool=tool_call != 0,
    )
