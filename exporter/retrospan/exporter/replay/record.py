"""The recorded calls, each given out once: a request is matched by its content, then by its order among equals.

Safe for threads. What a record does not hold of a call is not compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from threading import Lock
from typing import NamedTuple, cast

from retrospan.schemas.bundle.canonical import Canonicalizer, CanonicalRequest, Held, key_of, tool_key
from retrospan.schemas.bundle.difference import first_difference_of_arguments, nearest
from retrospan.schemas.bundle.form import Call, Json, ModelCall, ToolCall

#: What a miss names instead of a field where a call was made more often than recorded.
EXTRA = "calls"


class Explanation(NamedTuple):
    """Why nothing in the record answers: the step and call that come nearest, and the first field that differs."""

    text: str
    step: int | None = None
    field: str | None = None


def ordered_steps(calls: Sequence[Call]) -> list[int]:
    """Return the step of each call; one without is in that of the call before it."""
    found: list[int] = []
    for call in calls:
        found.append(call.step if call.step is not None else (found[-1] if found else 0))
    return found


class ModelRecord:
    """The calls of models."""

    def __init__(self, calls: Sequence[ModelCall], canonicalizer: Canonicalizer) -> None:
        self.calls = calls
        self._requests = [canonicalizer.call(call) for call in calls]
        self._by_held: dict[Held, dict[str, list[int]]] = {}
        for place, request in enumerate(self._requests):
            by_key = self._by_held.setdefault(request.held(), {})
            by_key.setdefault(request.key(), []).append(place)
        self._free = {
            held: {key: places[::-1] for key, places in by_key.items()}
            for held, by_key in self._by_held.items()
        }
        self._taken: set[int] = set()
        self._last: dict[tuple[Held, str], int] = {}
        self._lock = Lock()

    def take(self, asked: CanonicalRequest, *, again: bool = False) -> int | None:
        """Return the place of the first recorded call that asks this and was not given out; None if there is none.

        A client that says that it tries `again` gets what it got, and so does one that asks a failed call once more:
        a record holds a call that was tried several times once.
        """
        keys = [(held, key_of(asked, held)) for held in self._by_held]
        with self._lock:
            if again:
                given = [self._last[key] for key in keys if key in self._last]
                if given:
                    return max(given)
            # By key, the places that were not given out, the first of them last.
            free = [(places[-1], key) for key in keys if (places := self._free[key[0]].get(key[1]))]
            if free:
                place, key = min(free, key=lambda each: each[0])
                self._free[key[0]][key[1]].pop()
                self._taken.add(place)
                self._last[key] = place
                return place
            failed = [self._last[key] for key in keys if key in self._last]
            return next((place for place in failed if self.calls[place].error is not None), None)

    def pass_over(self, numbers: AbstractSet[int]) -> None:
        """Count calls as given out, by their numbers in the run."""
        with self._lock:
            self._taken.update(place for place, call in enumerate(self.calls) if call.n in numbers)
            for by_key in self._free.values():
                for free in by_key.values():
                    free[:] = [place for place in free if place not in self._taken]

    @property
    def has_left(self) -> bool:
        return len(self._taken) < len(self.calls)

    def left(self) -> list[int]:
        """Return the places of the calls that were not given out."""
        with self._lock:
            return [place for place in range(len(self.calls)) if place not in self._taken]

    def told_of(self) -> frozenset[str]:
        """Return the ids of the calls of tools whose responses were in the requests that were answered."""
        with self._lock:
            asked = [self.calls[place].messages or () for place in self._taken]
        # Histories repeat the same objects.
        messages = {id(each): each for history in asked for each in history}.values()
        parts = [part for each in messages for part in cast("list[dict[str, Json]]", each["parts"])]
        return frozenset(
            str(part["id"]) for part in parts if part.get("type") == "tool_call_response" and part.get("id")
        )

    def explain(self, asked: CanonicalRequest) -> Explanation:
        """Return why no recorded call answers a request."""
        if not self.calls:
            return Explanation("the record holds no model call")
        equal = [
            place for held, by_key in self._by_held.items() for place in by_key.get(key_of(asked, held), ())
        ]
        if equal:
            call = self.calls[equal[-1]]
            times = f"{len(equal)} time{'s' if len(equal) != 1 else ''}"
            return Explanation(
                f"an extra call: it asks what {told(call)} asked, which was recorded {times} and already given out",
                call.step,
                EXTRA,
            )
        left = self.left()
        candidates = left or [*range(len(self.calls))]
        found = nearest([self._requests[place] for place in candidates], asked)
        assert found is not None
        call = self.calls[candidates[found.place]]
        given = "" if left else ", which was already given out"
        if found.difference is None:
            return Explanation(f"the nearest recorded call is {told(call)}{given}", call.step)
        return Explanation(
            f"the nearest recorded call is {told(call)}{given}; they differ in {found.difference.told()}",
            call.step,
            found.difference.field,
        )


class ToolRecord:
    """The calls of tools."""

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self.calls = calls
        self._places = dict[str, list[int]]()
        for place, call in enumerate(calls):
            key = tool_key(call.name, call.arguments, has_arguments=call.has_arguments)
            self._places.setdefault(key, []).append(place)
        self._taken: set[int] = set()
        self._lock = Lock()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(call.name for call in self.calls)

    def take(self, name: str, candidates: Sequence[Json], call_id: str | None) -> int | None:
        """Return the place of the recorded call of this tool, by the id that the model gave it, else by its arguments.

        `candidates` are the same arguments told in several ways: as the model wrote them, as the tool gets them.
        """
        keys = {tool_key(name, each) for each in candidates} | {tool_key(name, None, has_arguments=False)}
        with self._lock:
            alike = {place for key in keys for place in self._places.get(key, ())}
            free = sorted(alike - self._taken)
            named = [place for place in free if call_id and self.calls[place].call_id == call_id]
            if not (named or free):
                return None
            place = (named or free)[0]
            self._taken.add(place)
            return place

    def take_id(self, name: str, call_id: str | None) -> int | None:
        """Return the place of the recorded call of this tool with this id, if it was not given out."""
        with self._lock:
            for place, call in enumerate(self.calls):
                if call_id and (call.name, call.call_id) == (name, call_id) and place not in self._taken:
                    self._taken.add(place)
                    return place
        return None

    def pass_over(self, numbers: AbstractSet[int]) -> None:
        """Count calls as given out, by their numbers in the run."""
        with self._lock:
            self._taken.update(place for place, call in enumerate(self.calls) if call.n in numbers)

    def left(self) -> list[int]:
        """Return the places of the calls that were not given out."""
        with self._lock:
            return [place for place in range(len(self.calls)) if place not in self._taken]

    def explain(self, name: str, arguments: Json, call_id: str | None) -> Explanation:
        """Return why no recorded call answers."""
        same = [(place, call) for place, call in enumerate(self.calls) if call.name == name]
        left = {*self.left()}
        if not same:
            return self._explain_name(name, arguments, call_id, [self.calls[place] for place in sorted(left)])
        free = [call for place, call in same if place in left]
        of_id = [call for call in free if call_id and call.call_id == call_id]
        equal = [
            call for _, call in same if first_difference_of_arguments(name, call.arguments, arguments) is None
        ]
        call = [*of_id, *(equal[-1:] or free), same[-1][1]][0]
        difference = first_difference_of_arguments(name, call.arguments, arguments)
        if difference is None or not free:
            times = f"{len(equal or same)} time{'s' if len(equal or same) != 1 else ''}"
            how = " with these arguments" if len(equal) not in (0, len(same)) else ""
            return Explanation(
                f"an extra call: {name} was recorded {times}{how}, and each was given out", call.step, EXTRA
            )
        return Explanation(
            f"the nearest recorded call is {told(call)}; they differ in {difference.told()}",
            call.step,
            difference.field,
        )

    def _explain_name(
        self, name: str, arguments: Json, call_id: str | None, left: list[ToolCall]
    ) -> Explanation:
        """Return why nothing answers a tool that the record does not hold: it may have another name now."""
        if not self.calls:
            return Explanation(f"the record holds no call of {name}, nor of any other tool")
        of_id = [call for call in left if call_id and call.call_id == call_id]
        alike = [call for call in left if tool_key(name, call.arguments) == tool_key(name, arguments)]
        call = [*of_id, *alike, *left, self.calls[-1]][0]
        return Explanation(
            f'the record holds no call of {name}: the nearest is {told(call)}; they differ in name: recorded "{call.name}", asked "{name}"',
            call.step,
            "name",
        )


class Unmade(NamedTuple):
    """What of a record was not given out."""

    models: list[ModelCall]
    tools: list[ToolCall]
    unseen: frozenset[str]
    """Tools of which calls came to no boundary, so that it is not known whether they were made."""
    let_run: frozenset[str]
    """Those that may run of these."""


def unmade(
    models: ModelRecord, tools: ToolRecord, seen: AbstractSet[str], may_run: AbstractSet[str]
) -> Unmade:
    """Return what is left of a record; `seen` are tools of which calls came to a boundary, `may_run` those that may
    run.
    """
    missing = tools.names - seen
    left = [call for call in map(tools.calls.__getitem__, tools.left()) if call.name not in missing]
    told_of = models.told_of() if left else frozenset[str]()
    # The agent told the model what came of it: its framework made an end of the call before the boundary, as of wrong
    # arguments.
    unseen = missing | {call.name for call in left if call.call_id in told_of}
    return Unmade(
        [models.calls[place] for place in models.left()],
        [call for call in left if call.call_id not in told_of],
        unseen - may_run,
        unseen & may_run,
    )


def told(call: Call) -> str:
    """Return how messages name a recorded call."""
    what = "the model call" if isinstance(call, ModelCall) else f"the call of {call.name}"
    step = "" if call.step is None else f" of step {call.step}"
    return f"{what}{step} (call {call.n})"
