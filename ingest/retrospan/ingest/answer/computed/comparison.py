"""`run_diff`: two runs side by side, one row per aligned position and differing aspect.

The view of the same name is what this must equal. Of the values only those are read whose texts are shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from retrospan.ingest.answer.computed.alignment import Key, Place, aligned
from retrospan.ingest.answer.computed.compared_runs import ComparedRun, ComparedRuns
from retrospan.ingest.answer.computed.compared_steps import ModelCall, Step
from retrospan.ingest.answer.computed.descent import Descent, inherited_steps
from retrospan.ingest.answer.computed.lookups import Lookups
from retrospan.ingest.answer.computed.shown_values import ShownValue, ShownValues
from retrospan.schemas.store import Store

_LONGEST = 500


class Row(NamedTuple):
    """A row of the view, its columns in their order."""

    position: int
    step_a: int | None
    step_b: int | None
    change: str
    aspect: str
    value_a: str | None
    value_b: str | None
    step_kind: str
    name: str
    detail: str
    known: bool


class _Difference(NamedTuple):
    aspect: str
    detail: str
    value_a: str | None
    value_b: str | None


class Comparisons:
    """The pairs of runs that one statement asks about, each compared once. Belongs to one thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[tuple[str, str], tuple[ComparedRuns, list[Row]]] = {}

    def of(self, a: str, b: str) -> tuple[ComparedRuns, list[Row]]:
        """Return two runs as they were read, and their rows of the view.

        Raises:
            TooMuch: the runs are too long to be held in this process.
        """
        if (a, b) not in self._known:
            runs = ComparedRuns(Lookups(self.store), a, b)
            self._known[a, b] = runs, differences_of(runs, a, b)
        return self._known[a, b]


def run_diff(comparisons: Comparisons, values: Sequence[str]) -> list[Row]:
    """Return the rows of the view, for the values `a` and `b`.

    Raises:
        TooMuch: the runs are too long to be held in this process.
    """
    a, b = values
    _, rows = comparisons.of(a, b)
    return rows


def differences_of(runs: ComparedRuns, a: str, b: str) -> list[Row]:
    """Return the rows for two runs that were read; none if one of them does not exist."""
    if not runs.runs:
        return []
    steps_a, steps_b = runs.runs[a].steps, runs.runs[b].steps
    known = runs.agents_known
    keys_a = [step.key(agents_known=known) for step in steps_a]
    keys_b = [step.key(agents_known=known) for step in steps_b]
    places = aligned(
        keys_a,
        keys_b,
        _inherited(runs.runs[a], keys_a, runs.runs[b], keys_b),
        _inherited(runs.runs[b], keys_b, runs.runs[a], keys_a),
    )
    pairs = [_Pair(place, _at(steps_a, place.step_a), _at(steps_b, place.step_b)) for place in places]
    shown = ShownValues(runs, a, b)
    shown.prompts.learn([pair.place[:2] for pair in pairs if pair.has_other_prompt])
    wanted = [shown.wanted(pair.place, pair.step_a, pair.step_b) for pair in pairs]
    words = shown.read(wanted)
    return [row for n, pair in enumerate(pairs) for row in _rows(n + 1, pair, words[n])]


@dataclass(frozen=True, slots=True)
class _Pair:
    place: Place
    step_a: Step | None
    step_b: Step | None

    @property
    def has_other_prompt(self) -> bool:
        """Whether both have a step there, with prompts that are not equal byte for byte."""
        a, b = self.step_a, self.step_b
        return a is not None and b is not None and a.model.input_hash != b.model.input_hash


def _inherited(parent: ComparedRun, of_parent: Sequence[Key], child: ComparedRun, own: Sequence[Key]) -> int:
    """Return how many steps a run has from the other, if it descends from that."""
    facts = child.facts
    if facts.parent_run_id != parent.facts.run_id or facts.parent_link not in ("forks", "resumes"):
        return 0
    if parent is child:
        return 0
    descent = Descent(facts.parent_link, facts.fork_step)
    unfinished = next(
        (i for i, step in enumerate(parent.steps) if step.status == "incomplete"), len(parent.steps)
    )
    return inherited_steps(descent, of_parent, own, unfinished)


def _at(steps: Sequence[Step], step: int) -> Step | None:
    return steps[step - 1] if step else None


def _rows(position: int, pair: _Pair, words: Mapping[tuple[str, str], Sequence[ShownValue]]) -> Iterator[Row]:
    a, b = pair.step_a, pair.step_b
    shown = a or b
    assert shown is not None, "a place is of one run at least"
    if a is not None and b is not None:
        found = list(_of_both(pair.place, a, b, words))
        known = _other_tool(a, b) or (
            (_arguments_hash(a) is None) == (_arguments_hash(b) is None)
            and (_result_hash(a) is None) == (_result_hash(b) is None)
            and (a.state_hash is None) == (b.state_hash is None)
        )
        change = "changed" if found else "same"
    elif pair.place.inherited:
        found, known, change = [_Difference("", "inherited", None, None)], True, "same"
    else:
        aspect = "answer" if shown.step_kind == "model" else "tool"
        found = [_Difference(aspect, "", _alone(a, words, "a"), _alone(b, words, "b"))]
        known, change = True, "only_b" if a is None else "only_a"
    for one in found or [_Difference("", "", None, None)]:
        yield Row(
            position,
            pair.place.step_a or None,
            pair.place.step_b or None,
            "moved" if one.detail == "order" else change,
            one.aspect,
            one.value_a[:_LONGEST] if one.value_a is not None else None,
            one.value_b[:_LONGEST] if one.value_b is not None else None,
            shown.step_kind,
            shown.name,
            one.detail,
            known,
        )


def _alone(step: Step | None, words: Mapping[tuple[str, str], Sequence[ShownValue]], side: str) -> str | None:
    if step is None:
        return None
    if step.step_kind == "model":
        return _answer(words, side)
    return _call(step)


def _call(step: Step) -> str:
    return f"{step.name}({(step.tool.arguments or '') if step.tool is not None else ''})"


def _other_tool(a: Step, b: Step) -> bool:
    return a.step_kind == "tool" and a.name != b.name


def _of_both(
    place: Place, a: Step, b: Step, words: Mapping[tuple[str, str], Sequence[ShownValue]]
) -> Iterator[_Difference]:
    """Yield what differs between two steps, in the order in which it is shown."""
    if place.moved:
        yield _Difference("tool", "order", f"at step {place.step_a}", f"at step {place.step_b}")
    if _other_tool(a, b):
        yield _Difference("tool", "", _call(a), _call(b))
    elif _differ(_arguments_hash(a), _arguments_hash(b)):
        yield _Difference("arguments", "", _arguments(a), _arguments(b))
    if _other_model(a, b):
        yield _Difference("model", "", _model(a.model), _model(b.model))
    yield from _prompt(a.model, b.model, words)
    if _differ(a.state_hash, b.state_hash):
        yield from _state(words.get(("state", "a"), ()), words.get(("state", "b"), ()))
    if a.model.output_hash != b.model.output_hash:
        yield _Difference("answer", "", _answer(words, "a"), _answer(words, "b"))
    if not _other_tool(a, b) and _differ(_result_hash(a), _result_hash(b)):
        yield _Difference("result", "", _result(a), _result(b))
    if a.status != b.status or a.error_type != b.error_type:
        yield _Difference("error", "", _error(a), _error(b))


def _prompt(
    a: ModelCall, b: ModelCall, words: Mapping[tuple[str, str], Sequence[ShownValue]]
) -> Iterator[_Difference]:
    system = a.system_hash != b.system_hash and _key(words, "system", "a") != _key(words, "system", "b")
    tools = a.tools_hash != b.tools_hash and _key(words, "tools", "a") != _key(words, "tools", "b")
    messages = ("message", "a") in words or ("message", "b") in words
    if not (system or tools or messages):
        return
    names = {"system": system, "tools": tools, "messages": messages}
    what = "system" if system else "tools" if tools else "message"
    value_a, value_b = _first(words, what, "a"), _first(words, what, "b")
    if system or tools:
        value_a, value_b = value_a or None, value_b or None
    yield _Difference(
        "prompt", " ".join(name for name, differs in names.items() if differs), value_a, value_b
    )


def _state(a: Sequence[ShownValue], b: Sequence[ShownValue]) -> Iterator[_Difference]:
    """Yield a difference of states: of two only the keys that differ."""
    in_a, in_b = {(one.place, one.key) for one in a}, {(one.place, one.key) for one in b}
    own_a = [one for one in a if (one.place, one.key) not in in_b]
    own_b = [one for one in b if (one.place, one.key) not in in_a]
    keys = ", ".join(dict.fromkeys(one.place for one in (*own_a, *own_b)))
    if own_a or own_b:
        yield _Difference("state", keys, _as_object(own_a), _as_object(own_b))


def _as_object(state: Sequence[ShownValue]) -> str:
    return "{" + ",".join(f"{_json_text(one.place)}:{one.text}" for one in state) + "}"


def _json_text(key: str) -> str:
    """Write a key as the engine does."""
    return json.dumps(key, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _first(words: Mapping[tuple[str, str], Sequence[ShownValue]], what: str, side: str) -> str | None:
    found = words.get((what, side), ())
    return found[0].text if found else None


def _key(words: Mapping[tuple[str, str], Sequence[ShownValue]], what: str, side: str) -> str:
    found = words.get((what, side), ())
    return found[0].key if found else ""


def _answer(words: Mapping[tuple[str, str], Sequence[ShownValue]], side: str) -> str:
    return " ".join(one.text for one in words.get(("answer", side), ()))


def _differ(a: str | None, b: str | None) -> bool:
    """Return whether both are known and differ."""
    return a is not None and b is not None and a != b


def _other_model(a: Step, b: Step) -> bool:
    return (
        _differ(a.model.request_model, b.model.request_model)
        or _differ(a.model.provider, b.model.provider)
        or a.model.parameters_hash != b.model.parameters_hash
    )


def _model(call: ModelCall) -> str:
    provider = "?" if call.provider is None else call.provider
    model = "?" if call.request_model is None else call.request_model
    return f"{provider} {model} {call.parameters}"


def _error(step: Step) -> str:
    return f"{step.status} {step.error_type} {step.error_message}".rstrip(" ")


def _arguments_hash(step: Step) -> str | None:
    return step.tool.arguments_hash if step.tool is not None else None


def _result_hash(step: Step) -> str | None:
    return step.tool.result_hash if step.tool is not None else None


def _arguments(step: Step) -> str | None:
    return step.tool.arguments if step.tool is not None else None


def _result(step: Step) -> str | None:
    return step.tool.result if step.tool is not None else None
