"""What changed from one run to another, call by call, for whoever has to say that it is meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from retrospan.schemas.bundle.comparison import difference_of, executed
from retrospan.schemas.bundle.form import Call, Json, ModelCall, RunRecord
from retrospan.schemas.hashing import canonical_json

#: Lines shown, and characters of what a call was given.
_LINES, _SHOWN = 40, 100


def changes(before: RunRecord, now: RunRecord) -> list[str]:
    """Return a line for each call that came (+), went (-) or is another one (~), and for another answer; none if
    nothing changed.

    A change is told where it is seen first: what a model was told stays in what it is asked after that.
    """
    lines = [*_calls(executed(before), executed(now))]
    if before.answer is not None and before.answer != now.answer:
        lines.append(f"~ answer: {_short(before.answer)} → {_short(now.answer)}")
    if len(lines) > _LINES:
        lines[_LINES:] = [f"… {len(lines) - _LINES} more changes"]
    return lines


def _calls(before: Sequence[Call], now: Sequence[Call]) -> Iterator[str]:
    told = set[bytes]()
    matcher = SequenceMatcher(None, [*map(_kind, before)], [*map(_kind, now)], autojunk=False)
    for what, start, end, start_now, end_now in matcher.get_opcodes():
        if what != "equal":
            yield from (f"- {_told(call)}" for call in before[start:end])
            yield from (f"+ {_told(call)}" for call in now[start_now:end_now])
            continue
        for one, two in zip(before[start:end], now[start_now:end_now], strict=True):
            found = difference_of(one, two)
            if found is None:
                continue
            values = canonical_json([_plain(found.recorded), _plain(found.asked)])
            if values not in told:
                told.add(values)
                where = "" if two.step is None else f" of step {two.step}"
                yield f"~ {_named(two)}{where}: {found.told('now')}"


def _kind(call: Call) -> str:
    return "model" if isinstance(call, ModelCall) else f"tool {call.name}"


def _named(call: Call) -> str:
    return "the model call" if isinstance(call, ModelCall) else f"the call of {call.name}"


def _told(call: Call) -> str:
    step = "" if call.step is None else f"step {call.step}: "
    if isinstance(call, ModelCall):
        return f"{step}a model call of {call.model or 'a model'}"
    return f"{step}{call.name}({_short(call.arguments) if call.has_arguments else '?'})"


def _plain(value: Json) -> Json:
    return value if isinstance(value, str | int | float | bool | dict | list | None) else repr(value)


def _short(value: Json) -> str:
    text = canonical_json(value).decode(errors="replace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
