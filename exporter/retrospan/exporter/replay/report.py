"""The report of a replay: which recorded calls were given out, where the agent left the record, what was refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal, NamedTuple, cast

from retrospan.exporter.replay.loops import loop_around
from retrospan.exporter.replay.record import told
from retrospan.schemas.bundle.form import Json, ModelCall, ToolCall

Verdict = Literal["identical", "identical_outside_tools", "prefix", "parts", "live"]


class Refused(NamedTuple):
    """Something that was not let out: what it was, and who wanted it."""

    what: str
    caller: str


@dataclass
class Report:
    """What came of a replay so far; its lists grow while the agent runs."""

    run_ids: tuple[str, ...]
    model_calls: int
    tool_calls: int
    answered: list[int] = field(default_factory=list[int])
    """Numbers of the recorded model calls, in the order in which they were given out."""
    results: list[int] = field(default_factory=list[int])
    """The same of tool calls."""
    unseen: frozenset[str] = frozenset()
    """Recorded tools of which calls came to no boundary: the agent ran them itself, its framework refused them, or
    nobody called them.
    """
    let_run: frozenset[str] = frozenset()
    """Tools that were named as such that may run, and that ran, or may have."""
    places: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of those, where functions of that name are in the program: module:function."""
    never_loaded: tuple[str, ...] = ()
    """Functions that were named as tools, and whose modules were never imported."""
    live: list[str] = field(default_factory=list[str])
    """Calls that went out, in the order in which they did."""
    differences: list[str] = field(default_factory=list[str])
    """In the mode shadow: where an answer of today differs from the recorded one, or a request has no counterpart."""
    not_compared: int = 0
    """In the mode shadow: recorded calls that were asked, and whose answer of today was not held against the recorded
    one.
    """
    refused: list[Refused] = field(default_factory=list[Refused])
    kept_back: int = 0
    """Requests with telemetry that were not sent."""
    missed: str = ""
    """Why the replay stopped; '' where it did not."""
    step: int | None = None
    """The step at which the agent left the record."""
    field_name: str | None = None
    looping: str = ""
    """A client that runs tools itself and asks again, whose requests were answered."""
    unlooped: list[int] = field(default_factory=list[int])
    """Numbers of the model calls that were given to it and asked for no tool, and of which the record may tell the last
    answer alone.
    """
    tells_loops: bool = False
    """Whether the record tells such a client's requests one by one: it holds an answer to one that asked for a tool."""
    left: int = 0
    """Recorded model calls that were not asked."""
    first_left: str = ""
    """The first of the recorded calls that were not made."""
    first_left_step: int | None = None
    left_of_tools: int = 0
    """Recorded calls of tools that came to the boundary before, and did not come again."""
    edges: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """Of each place that drew from outside under `deterministic()`: how what it drew is known, and why not."""
    state_keys: tuple[str, ...] = ()
    """What of the state that the agent begins with is another than the recorded one."""
    state_step: int | None = None
    """The first step that is done from that state."""
    state_to: str = ""
    """Who asked for that state; '' while nobody did."""
    state_sent: tuple[str, ...] = ()
    """Nodes of a graph that are begun there with what was sent to them, and not with the state."""
    settle: Callable[[], None] = lambda: None
    """Brings what is left up to date; what is told of the whole calls it."""

    def __post_init__(self) -> None:
        self._lock = Lock()

    def refuse(self, what: str, caller: str) -> None:
        """Note what was not let out, once for each caller."""
        refused = Refused(what, caller)
        with self._lock:
            if refused not in self.refused:
                self.refused.append(refused)

    def leave(self, models: Sequence[ModelCall], tools: Sequence[ToolCall], unseen: frozenset[str]) -> None:
        """Note which recorded calls were not made, those of tools that came to a boundary; others are unseen."""
        self.left, self.left_of_tools, self.unseen = len(models), len(tools), unseen
        left: list[ModelCall | ToolCall] = [*models, *tools]
        if left:
            first = min(left, key=lambda call: call.n)
            self.first_left, self.first_left_step = told(first), first.step

    def answer(self, call: ModelCall) -> None:
        """Note a recorded model call that is given out, to the request that is under way in this thread."""
        self.answered.append(call.n)
        if client := loop_around():
            parts = [
                part for said in call.answer or () for part in cast("list[Mapping[str, Json]]", said["parts"])
            ]
            asks = any(part.get("type") == "tool_call" for part in parts)
            self.looping, self.tells_loops = client, self.tells_loops or asks
            if not (asks or call.tells_rounds or call.error):
                self.unlooped.append(call.n)

    @property
    def verdict(self) -> Verdict:
        """`parts` where the agent left the record, `prefix` where it stopped before the end, else `identical`.

        `identical_outside_tools` where recorded tools came to no boundary, so that nobody knows whether and how they
        were called, or where nobody knows whether the record leaves calls of tools out. `live` where calls went out, or
        it began with a state that was changed: then there is nothing to be the same as.
        """
        self.settle()
        if self.missed:
            return "parts"
        if self.live or self.state_to:
            return "live"
        if self.left or self.left_of_tools:
            return "prefix"
        return "identical_outside_tools" if self.unseen or self.may_lack_calls else "identical"

    @property
    def may_lack_calls(self) -> bool:
        """Tell whether the record may tell the last of several answers as the only one."""
        return bool(self.unlooped) and not self.tells_loops

    @property
    def is_state_unused(self) -> bool:
        """Tell whether the state was to be another one, and the agent never asked for it."""
        return bool(self.state_keys) and not self.state_to

    def lines(self) -> list[str]:
        """Return the report for people."""
        self.settle()
        asked = f"{len(self.answered)} of {self.model_calls} model calls"
        tools = f"{len(self.results)} of {self.tool_calls} tool calls"
        found = [f"{self._headline()}: {asked} and {tools} were answered from the record"]
        if self.missed:
            found.append(f"  {self.missed}")
        if self.verdict == "prefix":
            found.append(f"  not made: {self.first_left}")
        if self.live:
            found.append(f"  live: {counted(len(self.live), 'call')}")
        if self.state_keys:
            found.append(f"  {self._state()}")
        found += [f"  differs: {difference}" for difference in self.differences]
        if self.not_compared:
            found.append(f"  answers not compared: {self.not_compared}")
        if self.unseen:
            found.append(f"  not at the boundary of tools: {', '.join(sorted(self.unseen))}{self._how()}")
        if self.may_lack_calls:
            found.append(f"  {self._may_lack()}")
        if self.let_run:
            found.append(f"  let run, as they were named: {', '.join(sorted(self.let_run))}")
        if self.never_loaded:
            found.append(f"  named as tools, but nobody imported them: {', '.join(self.never_loaded)}")
        found += [f"  refused: {refused.what}, wanted by {refused.caller}" for refused in self.refused]
        if self.edges:
            found.append(f"  drawn from outside: {self._edges()}")
        if self.kept_back:
            found.append(f"  not sent: {counted(self.kept_back, 'request')} with telemetry")
        return found

    def _how(self) -> str:
        """Return how tools are brought to the boundary that ran as always, or allowed to run."""
        named = [f"--tool {place}" for _, place in sorted(self.places.items())]
        others = [f"--run-tool {name}" for name in sorted(self.unseen - self.places.keys())]
        answers = f" {' '.join(named)} answers it from the record" if named else ""
        allows = f" {' '.join(others)} says that it may run" if others else ""
        return f". What of it was called, ran:{';'.join(filter(None, (answers, allows)))}"

    def _may_lack(self) -> str:
        calls = f"call{'' if len(self.unlooped) == 1 else 's'} {', '.join(map(str, self.unlooped))}"
        return (
            f"not known: whether a tool was called before the answer of {calls}. {self.looping} runs tools itself and asks again, and "
            "the record may tell of the last answer alone"
        )

    def _headline(self) -> str:
        if self.verdict == "parts":
            return "parts" + (f" at step {self.step}" if self.step is not None else "")
        if self.verdict == "identical_outside_tools" and not self.unseen:
            return "identical, but for calls of tools that the record may leave out"
        if self.verdict == "identical_outside_tools":
            return "identical, but for tools that came to no boundary"
        return self.verdict

    def _state(self) -> str:
        keys = ", ".join(f"state.{key}" for key in self.state_keys)
        if self.state_to:
            sent = (
                f". Begun there with what was sent to it, which the change does not reach: {', '.join(self.state_sent)}. "
                "Fork at the step that sends"
            )
            said = f"{keys}: set in the state that {self.state_to} began with, at step {self.state_step}"
            return said + (sent if self.state_sent else "")
        return (
            f"{keys}: not set, as the agent never asked for its state. A graph of LangGraph with a checkpointer, and "
            "initial_state() of retrospan.exporter.replay, ask for it"
        )

    def _edges(self) -> str:
        kinds = [each["how"] for each in self.edges]
        counts = [f"{kinds.count(how)} {how}" for how in dict.fromkeys(kinds)]
        unknown = [f"{each['edge']} ({each['why']})" for each in self.edges if each["how"] == "unknown"]
        return ", ".join(counts) + (f": {'; '.join(unknown)}" if unknown else "")

    def as_json(self) -> dict[str, object]:
        """Return the report for programs."""
        verdict = self.verdict
        return {
            "verdict": verdict,
            "runs": list(self.run_ids),
            "model_calls": self.model_calls,
            "model_calls_answered": list(self.answered),
            "tool_calls": self.tool_calls,
            "tool_calls_answered": list(self.results),
            "tools_not_at_the_boundary": sorted(self.unseen),
            "tools_let_run": sorted(self.let_run),
            "tools_never_loaded": list(self.never_loaded),
            "calls_that_may_be_the_last_of_several": list(self.unlooped) if self.may_lack_calls else [],
            "live": list(self.live),
            "differences": list(self.differences),
            "answers_not_compared": self.not_compared,
            "refused": [{"what": each.what, "caller": each.caller} for each in self.refused],
            "edges": list(self.edges),
            "state_keys": list(self.state_keys),
            "state_step": self.state_step,
            "state_to": self.state_to or None,
            "state_sent": list(self.state_sent),
            "telemetry_kept_back": self.kept_back,
            "miss": self.missed or None,
            "step": self.first_left_step if verdict == "prefix" else self.step,
            "field": self.field_name,
            "left": self.left,
            "first_left": self.first_left if verdict == "prefix" else None,
        }


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
