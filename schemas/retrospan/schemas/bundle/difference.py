"""Where two requests part: the first field that differs, with both values, and the recorded call that a live one is
nearest to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from retrospan.schemas.bundle.canonical import CanonicalRequest
from retrospan.schemas.bundle.form import Json
from retrospan.schemas.bundle.sameness import canonical_data
from retrospan.schemas.hashing import canonical_json

#: Fields of a request, in the order in which they are compared.
_FIELDS = ("model", "parameters", "system", "tools", "messages")
#: Characters shown of a value, and of a text before the place where it differs.
_SHOWN, _BEFORE = 120, 30


class Absent:
    """Stands for a value that one side does not have; null is a value."""

    def __repr__(self) -> str:
        return "(nothing)"


ABSENT: Final = Absent()


class Difference(NamedTuple):
    """A field that differs, such as messages[3].parts[0].content, and what each side has there, possibly ABSENT."""

    field: str
    recorded: Json
    asked: Json

    def told(self, other: str = "asked") -> str:
        """Return a sentence that names the field and shows both values, of long texts from just before they differ.

        `other` says what the second value is: asked, now, today.
        """
        start = 0
        if isinstance(self.recorded, str) and isinstance(self.asked, str):
            pairs = zip(self.recorded, self.asked, strict=False)
            start = max(0, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) - _BEFORE)
        return f"{self.field}: recorded {_shown(self.recorded, start)}, {other} {_shown(self.asked, start)}"


def _shown(value: Json, start: int) -> str:
    if isinstance(value, Absent):
        return repr(value)
    if isinstance(value, str):
        text = canonical_json(value[start : start + _SHOWN]).decode(errors="replace")
        return ("…" if start else "") + text + ("…" if len(value) > start + _SHOWN else "")
    text = canonical_json(value).decode(errors="replace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def first_difference(recorded: CanonicalRequest, asked: CanonicalRequest) -> Difference | None:
    """Return the first field in which a live request differs from a recorded one; None if their keys are equal.

    What the record does not hold is not compared.
    """
    reduced = asked.reduced_to(recorded.held())
    sides: list[tuple[str, Json, Json]] = [
        # As it was asked for: the day with which it was compared is the record's.
        ("model", recorded.model, reduced.model if reduced.model == recorded.model else asked.model),
        ("parameters", recorded.parameters or {}, _sent(recorded, reduced, asked)),
        ("system", recorded.system, reduced.system),
        ("tools", _by_name(recorded.tools), _by_name(reduced.tools)),
        ("messages", recorded.messages, reduced.messages),
    ]
    for name, before, now in sides:
        if (found := _compare(name, before, now)) is not None:
            return found
    return None


def _sent(recorded: CanonicalRequest, reduced: CanonicalRequest, asked: CanonicalRequest) -> Json:
    """Return the parameters as they were sent, without what is usual where the record has something else."""
    sent, before = asked.parameters or {}, recorded.parameters or {}
    return {
        name: value
        for name, value in (reduced.parameters or {}).items()
        if name in sent or canonical_json(value) == canonical_json(before.get(name))
    }


def first_difference_of_arguments(name: str, recorded: Json, asked: Json) -> Difference | None:
    """Return where the arguments of two calls of a tool differ; None if they ask the same."""
    return first_difference_of_values(f"{name}.arguments", recorded, asked)


def first_difference_of_values(field: str, recorded: Json, asked: Json) -> Difference | None:
    """Return where two arguments or results differ; None if they are the same, whoever wrote them as text."""
    return _compare(field, canonical_data(recorded), canonical_data(asked))


def _by_name(tools: Sequence[Mapping[str, Json]] | None) -> Json:
    """Return tools under their names, so that one more is named as such; as they are where two have one name."""
    if tools is None:
        return None
    named = {str(tool["name"]): tool for tool in tools}
    return named if len(named) == len(tools) else list(tools)


def _compare(field: str, recorded: Json, asked: Json) -> Difference | None:
    """Return the first place below a field where two canonical values differ."""
    if isinstance(recorded, Absent) or isinstance(asked, Absent):
        return Difference(field, recorded, asked)
    if isinstance(recorded, Mapping) and isinstance(asked, Mapping):
        # In the recorded order, which is that of the request; then what is new.
        for key in [*recorded, *(key for key in asked if key not in recorded)]:
            found = _compare(f"{field}.{key}", recorded.get(key, ABSENT), asked.get(key, ABSENT))
            if found is not None:
                return found
        return None
    if isinstance(recorded, list | tuple) and isinstance(asked, list | tuple):
        for place in range(max(len(recorded), len(asked))):
            found = _compare(
                f"{field}[{place}]",
                recorded[place] if place < len(recorded) else ABSENT,
                asked[place] if place < len(asked) else ABSENT,
            )
            if found is not None:
                return found
        return None
    # By their canonical text: to Python True is 1.
    if canonical_json(recorded) == canonical_json(asked):
        return None
    return Difference(field, recorded, asked)


class Nearest(NamedTuple):
    """The recorded request that is most like a live one, by its place, and where they differ (None if nowhere)."""

    place: int
    difference: Difference | None


def nearest(recorded: Sequence[CanonicalRequest], asked: CanonicalRequest) -> Nearest | None:
    """Return the recorded request with most fields equal, then with the longest common beginning of messages.

    Among equals the first. None if there is none at all.
    """
    best: tuple[tuple[int, int], int] | None = None
    for place, each in enumerate(recorded):
        likeness = _likeness(each, asked)
        if best is None or likeness > best[0]:
            best = likeness, place
    return None if best is None else Nearest(best[1], first_difference(recorded[best[1]], asked))


def _likeness(recorded: CanonicalRequest, asked: CanonicalRequest) -> tuple[int, int]:
    reduced = asked.reduced_to(recorded.held())
    equal = sum(
        canonical_json(getattr(recorded, name) or None) == canonical_json(getattr(reduced, name) or None)
        for name in _FIELDS
    )
    pairs = zip(recorded.messages or (), reduced.messages or (), strict=False)
    return equal, sum(
        1 for _ in takewhile(lambda pair: canonical_json(pair[0]) == canonical_json(pair[1]), pairs)
    )
