"""What an entity was, slowly: every statement is looked at for every time. Knows nothing of SQL or windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """One statement about one field; times are whole seconds. Copies have the same id and content."""

    id: str
    field: str
    value: object  # None clears
    valid_from: int
    known_from: int
    priority: int = 0
    correction: bool = False

    @property
    def weight(self) -> int:
        return 1000 if self.correction else min(max(self.priority, -999), 999)

    @property
    def rank(self) -> tuple[int, int, int, str]:
        return (self.weight, self.valid_from, self.known_from, self.id)


@dataclass(frozen=True)
class Held:
    """A field at a time: its value, which statement brought it, which wins."""

    value: object
    introduced_by: str
    last_asserted_by: str
    since: int


@dataclass(frozen=True)
class Change:
    field: str
    old: object
    new: object
    at: int
    by: str


def same(one: object, other: object) -> bool:
    """JSON's equality: 1 is 1.0 and is not true."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def known(said: Iterable[Statement], by: int) -> list[Statement]:
    """The statements that had arrived, each once: as its first copy."""
    first: dict[tuple[str, str], Statement] = {}
    for one in sorted(said, key=lambda one: one.known_from):
        if one.known_from <= by:
            first.setdefault((one.id, one.field), one)
    return list(first.values())


def winner(said: Sequence[Statement], field: str, at: int) -> Statement | None:
    held = [one for one in said if one.field == field and one.valid_from <= at]
    return max(held, key=lambda one: one.rank, default=None)


def changes(said: Sequence[Statement]) -> list[Change]:
    """Every change of a winning value, in time."""
    found = []
    for field in sorted({one.field for one in said}):
        before: object = None
        for at in sorted({one.valid_from for one in said}):
            now = winner(said, field, at)
            value = now.value if now else None
            if now is not None and not same(value, before):
                found.append(Change(field, before, value, at, now.id))
            before = value
    return sorted(found, key=lambda change: (change.at, change.field))


def state(said: Sequence[Statement], at: int, known_at: int) -> dict[str, Held]:
    """The fields at a time, as known at a time."""
    heard = known(said, known_at)
    fields: dict[str, Held] = {}
    for change in changes([one for one in heard if one.valid_from <= at]):
        last = winner(heard, change.field, at)
        assert last is not None
        fields[change.field] = Held(change.new, change.by, last.id, change.at)
    return {field: held for field, held in fields.items() if held.value is not None}
