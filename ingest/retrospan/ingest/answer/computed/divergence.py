"""`run_divergence`: where two runs diverge, and why.

The view of the same name is what this must equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from retrospan.ingest.answer.computed.compared_runs import ComparedRun, ComparedRuns
from retrospan.ingest.answer.computed.comparison import Row, differences_of
from retrospan.ingest.answer.computed.lookups import Lookups
from retrospan.schemas.store import Store

_ASPECTS = ("tool", "arguments", "model", "prompt", "state", "answer", "result", "error")
#: The aspect that shows a cause.
_SHOWN_BY = {
    "input": "prompt",
    "model": "model",
    "prompt": "prompt",
    "tool_result": "result",
    "sampling": "answer",
}
_NOWHERE = Row(0, None, None, "", "", None, None, "", "", "", known=False)


def run_divergence(store: Store, values: Sequence[str]) -> list[Sequence[object]]:
    """Return the row of the view, for the values `a` and `b`; none if one of the runs does not exist.

    Raises:
        TooMuch: the runs are too long to be held in this process.
    """
    a, b = values
    runs = ComparedRuns(Lookups(store), a, b)
    if not runs.runs:
        return []
    rows = sorted(differences_of(runs, a, b), key=lambda row: (row.position, _order(row.aspect)))
    found = _Found.among(rows)
    apart = _Apart.between(runs.runs[a], runs.runs[b])
    cause = _cause(found, apart)
    shown = _SHOWN_BY.get(cause, "")
    place = next(
        (row for row in found.there if row.aspect == shown), found.there[0] if found.there else _NOWHERE
    )
    value_a, value_b = place.value_a, place.value_b
    if not found.there and apart.other_input:
        value_a, value_b = apart.inputs
    elif not found.there and apart.other_outcome:
        value_a, value_b = apart.outcomes
    else:
        value_a = found.own_a.value_a if place.change == "only_b" else value_a
        value_b = found.own_b.value_b if place.change == "only_a" else value_b
    return [
        (
            found.own_a.step_a if place.change == "only_b" else place.step_a,
            found.own_b.step_b if place.change == "only_a" else place.step_b,
            _aspect(found, apart, place),
            cause,
            value_a,
            value_b,
            not found.apart
            and all(row.known for row in rows)
            and not apart.other_input
            and not apart.half_known_input
            and not apart.other_outcome,
            found.prefix,
            place.position or None,
        )
    ]


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

    @classmethod
    def between(cls, a: ComparedRun, b: ComparedRun) -> _Apart:
        input_a, hash_a, outcome_a, agent_a, service_a = a.about[6:11]
        input_b, hash_b, outcome_b, agent_b, service_b = b.about[6:11]
        return cls(
            inputs=(input_a, input_b),
            outcomes=(outcome_a, outcome_b),
            other_input=_differ(hash_a, hash_b),
            half_known_input=(hash_a is None) != (hash_b is None),
            other_outcome=outcome_a != outcome_b,
            other_code=_differ(agent_a, agent_b) or _differ(service_a, service_b),
            same_calls=_calls(a) == _calls(b),
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
        return cls(apart, there, own("only_a"), own("only_b"), prefix)


def _cause(found: _Found, apart: _Apart) -> str:
    there, aspects = found.there, {row.aspect for row in found.there}
    nothing = not found.apart and not apart.other_input and not apart.other_outcome
    if found.prefix != "none" or nothing:
        return ""
    if apart.other_input or any(r.aspect == "state" and r.step_a == 1 and r.step_b == 1 for r in there):
        return "input"
    if apart.other_code:
        return "code"
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
    if there and there[0].step_kind != "model" and apart.same_calls:
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
