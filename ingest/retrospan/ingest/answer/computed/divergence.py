"""`run_divergence`: where two runs diverge, and why.

The view of the same name is what this must equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from retrospan.ingest.answer.computed.compared_runs import ComparedRun, ComparedRuns
from retrospan.ingest.answer.computed.compared_steps import ModelCall
from retrospan.ingest.answer.computed.comparison import Comparisons, Row

_ASPECTS = ("tool", "arguments", "model", "prompt", "state", "answer", "result", "error")
#: The aspect that shows a cause.
_SHOWN_BY = {
    "input": "prompt",
    "model": "model",
    "prompt": "prompt",
    "tool_result": "result",
    "sampling": "answer",
}
_LONGEST = 500
_NOWHERE = Row(0, None, None, "", "", None, None, "", "", "", known=False)


def run_divergence(comparisons: Comparisons, values: Sequence[str]) -> list[Sequence[object]]:
    """Return the row of the view, for the values `a` and `b`; none if one of the runs does not exist.

    Raises:
        TooMuch: the runs are too long to be held in this process.
    """
    a, b = values
    runs, differences = comparisons.of(a, b)
    if not runs.runs:
        return []
    rows = sorted(differences, key=lambda row: (row.position, _order(row.aspect)))
    found = _Found.among(rows)
    apart = _Apart.between(runs.runs[a], runs.runs[b])
    beside = _Beside.where(found, runs, a, b)
    shown_cause = _cause(found, apart, beside)
    cause = "code" if apart.other_code and shown_cause not in ("", "patch", "input") else shown_cause
    shown = _SHOWN_BY.get(cause, "")
    place = next(
        (row for row in found.there if row.aspect == shown), found.there[0] if found.there else _NOWHERE
    )
    value_a, value_b = place.value_a, place.value_b
    step_a = found.own_a.step_a if place.change == "only_b" else place.step_a
    step_b = found.own_b.step_b if place.change == "only_a" else place.step_b
    if cause == "sampling" and beside is not None:
        step_a, step_b = found.next_a, found.next_b
        value_a, value_b = beside.answers
    elif not found.there and apart.other_input:
        value_a, value_b = apart.inputs
    elif not found.there and apart.other_outcome:
        value_a, value_b = apart.outcomes
    else:
        value_a = found.own_a.value_a if place.change == "only_b" else value_a
        value_b = found.own_b.value_b if place.change == "only_a" else value_b
    if apart.patch is not None:
        value_a, value_b = (
            (apart.patch.text, value_b) if apart.patch.side == "a" else (value_a, apart.patch.text)
        )
    return [
        (
            step_a,
            step_b,
            _aspect(found, apart, place),
            cause,
            value_a,
            value_b,
            not found.apart
            and apart.patch is None
            and all(row.known for row in rows)
            and not apart.other_input
            and not apart.half_known_input
            and not apart.other_outcome,
            found.prefix,
            place.position or None,
            shown_cause,
        )
    ]


class _Patch(NamedTuple):
    """What a fork changed in the other run."""

    side: str
    text: str


class _Apart(NamedTuple):
    """What differs between two runs as wholes."""

    inputs: tuple[str | None, str | None]
    outcomes: tuple[str, str]
    other_input: bool
    half_known_input: bool
    other_outcome: bool
    other_code: bool
    same_calls: bool
    """Both made the same calls, in whatever order."""
    patch: _Patch | None

    @classmethod
    def between(cls, a: ComparedRun, b: ComparedRun) -> _Apart:
        return cls(
            inputs=(a.facts.input, b.facts.input),
            outcomes=(a.facts.outcome, b.facts.outcome),
            other_input=_differ(a.facts.input_hash, b.facts.input_hash),
            half_known_input=(a.facts.input_hash is None) != (b.facts.input_hash is None),
            other_outcome=a.facts.outcome != b.facts.outcome,
            other_code=_differ(a.facts.agent_version, b.facts.agent_version)
            or _differ(a.facts.service_version, b.facts.service_version),
            same_calls=_calls(a) == _calls(b),
            patch=_patch(a, b),
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """What the comparison of the steps says."""

    apart: Sequence[Row]
    there: Sequence[Row]
    """Of the first position that differs."""
    own_a: Row
    """The first step that only a has before the next place that both share."""
    own_b: Row
    prefix: str
    next_a: int
    """Where run a stood when they parted."""
    next_b: int

    @classmethod
    def among(cls, rows: Sequence[Row]) -> _Found:
        """`rows` are in order."""
        apart = [row for row in rows if row.change != "same"]
        first = apart[0].position if apart else 0
        shared = (row.position for row in rows if row.change in ("same", "changed") and row.position > first)
        again = next(shared, None) if apart else None
        prefix = "none"
        if apart and again is None:
            changes = {row.change for row in apart}
            prefix = "a" if changes == {"only_b"} else "b" if changes == {"only_a"} else "none"

        def own(change: str) -> Row:
            fitting = (r for r in apart if r.change == change and (again is None or r.position < again))
            return next(fitting, _NOWHERE)

        there = [row for row in apart if row.position == first]
        begun = [row for row in rows if row.position < first]
        next_a = 1 + max((row.step_a or 0 for row in begun), default=0)
        next_b = 1 + max((row.step_b or 0 for row in begun), default=0)
        return cls(apart, there, own("only_a"), own("only_b"), prefix, next_a, next_b)


@dataclass(frozen=True, slots=True)
class _Beside:
    """An answer that only one run has, beside that of the other run's next step, which was asked the same."""

    answers: tuple[str, str]

    @classmethod
    def where(cls, found: _Found, runs: ComparedRuns, a: str, b: str) -> _Beside | None:
        there = found.there[0] if found.there else _NOWHERE
        if there.change not in ("only_a", "only_b") or there.step_kind != "model":
            return None
        calls = [_model_at(runs.runs[a], found.next_a), _model_at(runs.runs[b], found.next_b)]
        if not all(call is not None and call.output_values for call in calls):
            return None
        call_a, call_b = (call for call in calls if call is not None)
        if call_a.request != call_b.request:
            return None
        texts = runs.texts({a: call_a.output_values, b: call_b.output_values} if a != b else {})
        said = [
            " ".join(texts[run, n] for n in call.output_values if (run, n) in texts)[:_LONGEST]
            for run, call in ((a, call_a), (b, call_b))
        ]
        return cls((said[0], said[1]))


def _model_at(run: ComparedRun, step: int) -> ModelCall | None:
    return run.steps[step - 1].model if step <= len(run.steps) and run.steps[step - 1].asked_model else None


def _patch(a: ComparedRun, b: ComparedRun) -> _Patch | None:
    for side, fork, other in (("b", b, a), ("a", a, b)):
        facts = fork.facts
        forked = facts.parent_link == "forks" and facts.parent_run_id == other.facts.run_id != facts.run_id
        if forked and facts.patch:
            return _Patch(side, facts.patch)
    return None


def _cause(found: _Found, apart: _Apart, beside: _Beside | None) -> str:
    """Return the cause that the steps show, whatever the versions."""
    if apart.patch is not None:
        return "patch"
    there, aspects = found.there, {row.aspect for row in found.there}
    nothing = not found.apart and not apart.other_input and not apart.other_outcome
    if found.prefix != "none" or nothing:
        return ""
    if apart.other_input or any(r.aspect == "state" and r.step_a == 1 and r.step_b == 1 for r in there):
        return "input"
    if "model" in aspects:
        return "model"
    if any(r.aspect == "prompt" and ("system" in r.detail or "tools" in r.detail) for r in there):
        return "prompt"
    changed = there[0].step_kind if there and there[0].change == "changed" else ""
    if changed == "tool" and aspects & {"result", "error"} and not aspects & {"tool", "arguments", "state"}:
        return "tool_result"
    if any(
        r.aspect == "prompt"
        and (r.value_a or "").startswith("tool: ")
        and (r.value_b or "").startswith("tool: ")
        for r in there
    ):
        return "tool_result"
    if changed == "model" and "answer" in aspects and not aspects & {"prompt", "error"}:
        return "sampling"
    if beside is not None:
        return "sampling"
    other_call = any(r.change != "changed" or r.aspect in ("tool", "arguments") for r in there)
    if there and there[0].step_kind != "model" and apart.same_calls and other_call:
        return "order"
    return "unknown"


def _aspect(found: _Found, apart: _Apart, place: Row) -> str:
    if found.there:
        return place.aspect
    if apart.other_input:
        return "prompt"
    return "error" if apart.other_outcome else ""


def _order(aspect: str) -> int:
    return _ASPECTS.index(aspect) + 1 if aspect in _ASPECTS else 0


def _calls(run: ComparedRun) -> list[tuple[str, str]]:
    return sorted(
        (call.tool_name, call.arguments_hash or "") for call in run.tools.values() if call.step is not None
    )


def _differ(a: str | None, b: str | None) -> bool:
    """Return whether both are known and differ."""
    return a is not None and b is not None and a != b
