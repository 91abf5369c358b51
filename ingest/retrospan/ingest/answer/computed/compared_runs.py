"""Two runs as they are compared: the facts of their steps, and their values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from retrospan.ingest.answer.computed.alignment import Key
from retrospan.ingest.answer.computed.lookups import Lookups, TooMuch, of_runs
from retrospan.schemas.store import Parameters

#: A list is shown by so many of its elements.
SHOWN_ELEMENTS = 20


class ToolCall(NamedTuple):
    """A tool call, its long texts cut."""

    step: int | None
    tool_name: str
    error_type: str | None
    error_message: str | None
    arguments_hash: str | None
    result_hash: str | None
    arguments: str | None
    result: str | None


class ModelCall(NamedTuple):
    """A model call; values are numbers in its run, 0 for none."""

    provider: str | None = None
    request_model: str | None = None
    parameters: str = ""
    parameters_hash: str = ""
    system_hash: str = ""
    tools_hash: str = ""
    input_hash: str = ""
    output_hash: str = ""
    system_value: int = 0
    tools_value: int = 0
    output_values: Sequence[int] = ()
    error_type: str | None = None
    error_message: str | None = None


class Value(NamedTuple):
    """A value of a run, without its text."""

    kind: str
    hash: str
    role: str
    elements: Sequence[int]
    """The first ones."""
    length: int


@dataclass(frozen=True, slots=True)
class Step:
    """What is compared of a step."""

    step_kind: str
    own_name: str
    agent_name: str
    status: str
    tool: ToolCall | None
    model: ModelCall
    state_hash: str | None
    state: Sequence[tuple[str, int]]
    """Keys and values."""
    asked_model: bool

    @property
    def name(self) -> str:
        """The tool of a tool step, the agent of a model step."""
        if self.step_kind == "model":
            return self.agent_name
        return self.tool.tool_name if self.tool is not None else self.own_name

    @property
    def error_type(self) -> str:
        return (self.tool.error_type if self.tool is not None else self.model.error_type) or ""

    @property
    def error_message(self) -> str:
        return (self.tool.error_message if self.tool is not None else self.model.error_message) or ""

    def key(self, *, agents_known: bool) -> Key:
        """Return what it is aligned by. A run whose root never came does not know its agents: then they name no step."""
        return self.step_kind, "" if self.step_kind == "model" and not agents_known else self.name


@dataclass(slots=True)
class ComparedRun:
    """One of the two."""

    generation: int
    about: Sequence[Any]
    """Its row of `find_runs`."""
    steps: list[Step] = field(default_factory=list[Step])
    tools: dict[int, ToolCall] = field(default_factory=dict[int, ToolCall])
    models: dict[int, ModelCall] = field(default_factory=dict[int, ModelCall])


class ComparedRuns:
    """Reads two runs. `runs` is by run id, with both of them or, where one does not exist, with none."""

    def __init__(self, lookups: Lookups, a: str, b: str) -> None:
        self._lookups = lookups
        self._values: dict[str, dict[int, Value]] | None = None
        found = lookups.rows("find_runs", {"run_ids": sorted({a, b})})
        if len({row[1] for row in found}) < len(found):
            raise TooMuch  # runs of several tenants under one id: the view says what it makes of them
        self.runs = {row[1]: ComparedRun(row[2], row) for row in found}
        if self.runs.keys() != {a, b}:
            self.runs = {}
            return
        self._asked = of_runs(sorted(self.runs), sorted({run.generation for run in self.runs.values()}))
        for run, row in self._current("read_tool_calls"):
            run.tools[row[2]] = ToolCall(*row[3:])
        for run, row in self._current("read_model_calls"):
            run.models[row[2]] = ModelCall(*row[3:])
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
                if self.runs[row[1]].generation == row[2]:
                    self._values[row[1]][row[3]] = Value(*row[4:])
        return self._values[run_id]

    def inputs(self) -> Mapping[str, Mapping[int, Sequence[int]]]:
        """Return the numbers of the messages that each model step was given, by run and step."""
        found: dict[str, defaultdict[int, list[tuple[int, int]]]] = {
            run: defaultdict(list) for run in self.runs
        }
        for _, run_id, generation, step, _, numbers in self._lookups.rows("read_inputs", self._asked):
            if self.runs[run_id].generation != generation:
                continue
            if step is None:
                raise TooMuch
            self._lookups.spend(len(numbers))
            found[run_id][step] += enumerate(numbers)
        return {
            run_id: {step: [number for _, number in sorted(places)] for step, places in steps.items()}
            for run_id, steps in found.items()
        }

    def texts(self, wanted: Mapping[str, Iterable[int]]) -> Mapping[tuple[str, int], str]:
        """Return values as short texts, by run and number; `wanted` are numbers by run."""
        pairs = {(run_id, number) for run_id, numbers in wanted.items() for number in numbers}
        if not pairs:
            return {}
        asked: Parameters = {**self._asked, "numbers": sorted({number for _, number in pairs})}
        return {
            (run_id, number): text
            for run_id, generation, number, text in self._lookups.rows("read_texts", asked)
            if self.runs[run_id].generation == generation and (run_id, number) in pairs
        }

    def _current(self, lookup: str) -> Iterator[tuple[ComparedRun, list[Any]]]:
        for row in self._lookups.rows(lookup, self._asked):
            run = self.runs[row[0]]
            if run.generation == row[1]:
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
    )
