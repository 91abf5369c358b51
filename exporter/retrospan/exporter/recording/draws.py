"""What a program drew from outside, place by place: clocks, ids, random bytes; and the seed of its random numbers.

One `Draws` takes them down while a run is recorded, or gives them back while it is replayed. Standard library only,
safe for threads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from random import Random
from threading import Lock, get_ident
from typing import Any, cast

#: Values and characters taken down at most; what comes after that is not on record.
_MOST_VALUES, _MOST_CHARACTERS = 10_000, 200_000
#: Bits of a seed: a number that any JSON reader has exactly.
_SEED_BYTES = 6

RECORDED, DETERMINISTIC, UNKNOWN = "recorded", "deterministic", "unknown"


class Draws:
    """The draws of one block, by place: module, function and what was called."""

    def __init__(self, record: Mapping[str, Any] | None = None) -> None:
        """`record` is what an earlier run drew, to be given back; None takes down what this one draws."""
        self._given: dict[str, list[Any]] | None = None
        seed: object = None
        if record is not None:
            values = record.get("values")
            found = cast("dict[str, Any]", values) if isinstance(values, dict) else {}
            self._given = {place: [*each] for place, each in found.items() if isinstance(each, list)}
            seed = record.get("seed")
        self._has_seed = isinstance(seed, int)
        self._seed = seed if isinstance(seed, int) else int.from_bytes(os.urandom(_SEED_BYTES), "big")
        self.random = Random(self._seed)
        self._values = dict[str, list[Any]]()
        self._left = [_MOST_VALUES, _MOST_CHARACTERS]
        self._edges = dict[str, tuple[str, str]]()
        self._threads = dict[str, int]()
        self._lock = Lock()

    def draw(
        self, place: str, real: Callable[[], Any], told: Callable[[Any], Any], back: Callable[[Any], Any]
    ) -> Any:
        """Return a value: the recorded one if there is one, else a real one; `told` makes JSON of it, `back` a value of
        JSON.
        """
        given = self._given
        if given is not None:
            with self._lock:
                queue = given.get(place)
                has = bool(queue)
                recorded = queue.pop(0) if queue else None
            if has:
                try:
                    value = back(recorded)
                except (ValueError, TypeError, OverflowError):
                    value, has = real(), False
                self._note(
                    place, RECORDED if has else UNKNOWN, "" if has else "the record holds something else"
                )
                self._keep(place, told(value))
                return value
            self._note(place, UNKNOWN, "not on record")
            value = real()
            self._keep(place, told(value))
            return value
        value = real()
        is_kept = self._keep(place, told(value))
        self._note(place, RECORDED if is_kept else UNKNOWN, "" if is_kept else "too much to be recorded")
        return value

    def draw_random(self, place: str) -> Random:
        """Return the random numbers that this place draws from."""
        is_known = self._given is None or self._has_seed
        self._note(
            place,
            DETERMINISTIC if is_known else UNKNOWN,
            "" if is_known else "the seed is not on record",
            "random",
        )
        return self.random

    def _keep(self, place: str, value: Any) -> bool:
        size = len(json.dumps(value)) + 1
        with self._lock:
            left = self._left[0] - 1, self._left[1] - size
            if min(left) < 0:
                # From the first one that is left out: what comes after it would be given back in its place.
                self._left = [0, 0]
                return False
            self._left = [*left]
            self._values.setdefault(place, []).append(value)
        return True

    def _note(self, place: str, how: str, why: str, order: str | None = None) -> None:
        """Note how a place is known: once unknown it stays so, and so is one that several threads come to, for their
        order is.
        """
        key = order or place
        with self._lock:
            first = self._threads.setdefault(key, get_ident())
            if first != get_ident() and how != UNKNOWN:
                how, why = UNKNOWN, "drawn by several threads, whose order is not on record"
            if self._edges.get(place, ("", ""))[0] != UNKNOWN:
                self._edges[place] = how, why

    def edges(self) -> list[dict[str, str]]:
        """Return of each place how what it drew is known: deterministic, recorded or unknown, with the reason."""
        with self._lock:
            return [
                {"edge": place, "how": how, "why": why} for place, (how, why) in sorted(self._edges.items())
            ]

    def told(self) -> dict[str, Any]:
        """Return what is recorded, as JSON."""
        edges = self.edges()
        with self._lock:
            values = {place: [*each] for place, each in self._values.items()}
        return {"seed": self._seed, "values": values, "edges": edges}
