"""Reads the values of two compared runs that an answer shows: those that differ, and no others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from retrospan.ingest.answer.computed.alignment import Place
from retrospan.ingest.answer.computed.compared_prompts import ComparedPrompts
from retrospan.ingest.answer.computed.compared_runs import ComparedRuns
from retrospan.ingest.answer.computed.compared_steps import Step

_LONGEST = {"state": 200}
_LONGEST_ELSE = 500


class ShownValue(NamedTuple):
    """A value in words. `place` is the key of a state's value, and orders the messages of an answer."""

    place: str
    key: str
    """What it is compared by; empty if it is not known."""
    text: str


class Wanted(NamedTuple):
    """A value to be shown: of what, of which side, and its number there."""

    what: str
    side: str
    place: str
    number: int


class ShownValues:
    """Says which values are shown, and reads them all at once."""

    def __init__(self, runs: ComparedRuns, a: str, b: str) -> None:
        self._runs = runs
        self._run_of = {"a": a, "b": b}
        self.prompts = ComparedPrompts(runs, a, b)
        self._lists: dict[str, set[int]] | None = None

    def wanted(self, place: Place, a: Step | None, b: Step | None) -> list[Wanted]:
        """Return the values that are shown of two steps that stand side by side."""
        found: list[Wanted] = []
        if a is not None and b is not None:
            found += self._of_prompts(place, a, b)
            if a.state_hash is not None and b.state_hash is not None and a.state_hash != b.state_hash:
                for side, step in (("a", a), ("b", b)):
                    found += [Wanted("state", side, key, number) for key, number in step.state]
        if a is None or b is None or a.model.output_hash != b.model.output_hash:
            for side, acted in (("a", a), ("b", b)):
                numbers = acted.model.output_values if acted is not None else ()
                found += [
                    Wanted("answer", side, f"{n:09d}", number) for n, number in enumerate(numbers, start=1)
                ]
        return found

    def read(
        self, wanted: Sequence[Sequence[Wanted]]
    ) -> list[Mapping[tuple[str, str], Sequence[ShownValue]]]:
        """Return the words of each group by what they are of and by side, each in order."""
        numbers: defaultdict[str, set[int]] = defaultdict(set)
        for one in (one for group in wanted for one in group):
            numbers[self._run_of[one.side]].update(self._read_for(one))
        self._runs.learn_keys(numbers)
        texts = self._runs.texts(numbers)
        found: list[Mapping[tuple[str, str], Sequence[ShownValue]]] = []
        for group in wanted:
            words: defaultdict[tuple[str, str], list[ShownValue]] = defaultdict(list)
            for one in group:
                words[one.what, one.side].append(self._shown(one, texts))
            found.append({what: sorted(values) for what, values in words.items()})
        return found

    def _of_prompts(self, place: Place, a: Step, b: Step) -> Iterator[Wanted]:
        if a.model.system_hash != b.model.system_hash:
            yield Wanted("system", "a", "", a.model.system_value)
            yield Wanted("system", "b", "", b.model.system_value)
        if a.model.tools_hash != b.model.tools_hash:
            yield Wanted("tools", "a", "", a.model.tools_value)
            yield Wanted("tools", "b", "", b.model.tools_value)
        if a.model.input_hash != b.model.input_hash:
            in_a, in_b = self.prompts.odd_message(place.step_a, place.step_b)
            # Where one prompt has ended, it has no message to show.
            yield from (
                Wanted("message", side, "", number) for side, number in (("a", in_a), ("b", in_b)) if number
            )

    def _read_for(self, one: Wanted) -> Sequence[int]:
        """Return the numbers whose texts make the words for a value: its own, or those of its elements."""
        value = self._runs.values(self._run_of[one.side]).get(one.number)
        if value is None:
            return ()
        return value.elements if value.kind == "list" else (one.number,)

    def _shown(self, one: Wanted, texts: Mapping[tuple[str, int], str]) -> ShownValue:
        run_id = self._run_of[one.side]
        value = self._runs.values(run_id).get(one.number)
        if value is None:
            return ShownValue(one.place, "", ": " if one.what == "message" else "")
        if value.kind == "list":
            if not self._is_shown_list(run_id, one.number) or not value.elements:
                return ShownValue(one.place, "", ": " if one.what == "message" else "")
            elements = [texts[run_id, number] for number in value.elements if (run_id, number) in texts]
            text = f"[{','.join(elements)}{',…]' if value.length > len(value.elements) else ']'}"
            key = self._runs.list_key(run_id, one.number)
        else:
            text = texts.get((run_id, one.number), "")
            key = self._runs.key(run_id, one.number)
        if one.what == "message":
            return ShownValue(one.place, key, f"{value.role}: {text}")
        return ShownValue(one.place, key, text[: _LONGEST.get(one.what, _LONGEST_ELSE)])

    def _is_shown_list(self, run_id: str, number: int) -> bool:
        """Return whether this list is part of a prompt or of a stated state; other lists have no words."""
        if self._lists is None:
            self._lists = {}
            for name, run in self._runs.runs.items():
                found = {n for call in run.models.values() for n in (call.system_value, call.tools_value)}
                found |= {n for step in run.steps for _, n in step.state}
                self._lists[name] = found
        return number in self._lists[run_id]
