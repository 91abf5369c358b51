"""The texts of a run so far, and in which of them a value stood before it was said again. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from retrospan.ingest.interpret.lineage.places import may_hold, place_of
from retrospan.ingest.interpret.lineage.telling_values import TellingValue
from retrospan.ingest.interpret.lineage.text_index import TextIndex, marks_of
from retrospan.ingest.json_text import read_value, write_json

#: Characters of one run that are indexed, and that are searched for values with marks and for others. Nothing is said of
#: a value that they do not suffice for.
MOST_INDEXED, MOST_SEARCHED, MOST_SCANNED = 10_000_000, 50_000_000, 20_000_000
#: Documents that are named for one value, the newest; the others are counted.
MOST_DOCUMENTS = 5
#: To find a place in a JSON value takes so many times as long as to search its text.
_READING = 10
#: To turn to a text takes as long as to search so many characters.
_TURNING = 400


@dataclass(slots=True)
class EarlierText:
    """A text, what it is called, and the step that brought it; `given` is what it was asked for with."""

    kind: str  # document | result | message | system
    reference: str | None  # None: of system instructions, which have none
    step: int
    text: str
    inside: str = ""  # of a message: the part
    given: object = None
    retells: Collection[str] = ()  # documents and steps whose whole text it holds
    value: object = None  # its JSON, where that was read already

    def place(self, value: TellingValue) -> str | None:
        """Return where the value stands; None also where it was asked for with that value."""
        said = self.value if self.value is not None else read_value(self.text)
        place = place_of(said, value)
        if place is None or (self.given is not None and _holds(self.given, value)):
            return None
        return self.inside + place


class Origin(NamedTuple):
    """What holds a value, and the place in it."""

    reference: str
    place: str


class Origins(NamedTuple):
    """Where a value may have come from: the things that hold it, and of how many it may be any."""

    found: list[Origin]
    places: int

    def role(self, said: str) -> str:
        """Return the part that each of them played, which tells that there are others."""
        return said if self.places < 2 else f"{said}, one of {self.places}"


@dataclass(slots=True)
class _Found:
    """Of one value: the marks to look for it by, how many texts of each kind were searched, and where it stands."""

    marks: set[str] | None
    searched: dict[str, int] = field(default_factory=dict)
    documents: list[tuple[EarlierText, str]] = field(default_factory=list)
    first: dict[str, tuple[EarlierText, str]] = field(default_factory=dict)
    is_cut: bool = False


@dataclass(slots=True)
class _Texts:
    """The texts of one kind; those before `index.texts` are indexed."""

    all: list[EarlierText] = field(default_factory=list)
    index: TextIndex = field(default_factory=TextIndex)


class EarlierTexts:
    """Of documents all that hold a value count, of results, messages and instructions the first of each."""

    def __init__(self) -> None:
        self._documents: set[str | None] = set()
        self._texts: dict[str, _Texts] = {}
        self._found: dict[TellingValue, _Found] = {}
        self._left = {"indexed": MOST_INDEXED, "searched": MOST_SEARCHED, "scanned": MOST_SCANNED}

    @property
    def holds_documents(self) -> bool:
        return bool(self._documents)

    def add(self, text: EarlierText) -> None:
        """Keep a text; a document that is returned again is known since the first time."""
        if text.kind == "document":
            if text.reference in self._documents:
                return
            self._documents.add(text.reference)
        self._texts.setdefault(text.kind, _Texts()).all.append(text)

    def origins(self, value: TellingValue, before: int, returned: tuple[int, str] | None) -> Origins | None:
        """Return what held the value before a step was decided on; None where not all was searched.

        `before` is the step that decided: what it was given counts, and what others returned before it. `returned` is
        the step that is known to have been the first to return the value, and its reference.
        """
        found = self._search(value, with_results=returned is None)
        if found is None:
            return None
        documents = [each for each in found.documents if each[0].step < before]
        told = [text for kind, (text, _) in found.first.items() if kind != "result" and text.step <= before]
        result = found.first.get("result") if returned is None else None
        if result is not None and (
            result[0].step >= before or any(text.step <= result[0].step for text in told)
        ):
            result = None  # not known by then, or told before
        known = {text.reference for text, _ in documents}
        if result is not None:
            returned = result[0].step, result[0].reference or ""
        if returned is not None:
            known.add(returned[1])
        told = [text for text in told if known.isdisjoint(text.retells)]
        # What a step returned as documents it returned once.
        apart = returned is not None and all(text.step != returned[0] for text, _ in documents)
        named = documents[-MOST_DOCUMENTS:]
        named += [] if result is None else [result]
        named += [(text, found.first[text.kind][1]) for text in told]
        return Origins(
            [Origin(text.reference, place) for text, place in named if text.reference is not None],
            len(documents) + apart + len(told),
        )

    def _search(self, value: TellingValue, *, with_results: bool) -> _Found | None:
        """Return where a value stands in all that is known by now; None if that is more than may be searched."""
        found = self._found.get(value)
        if found is None:
            found = self._found[value] = _Found(marks_of(value.spellings))
        for kind, texts in self._texts.items():
            if kind not in found.first and (with_results or kind != "result") and not found.is_cut:
                found.is_cut = not self._search_kind(value, found, kind, texts)
        return None if found.is_cut else found

    def _search_kind(self, value: TellingValue, found: _Found, kind: str, texts: _Texts) -> bool:
        """Search the texts of a kind that were not searched yet. Return whether that is not too much."""
        begin = found.searched.get(kind, 0)
        found.searched[kind] = len(texts.all)
        if found.marks is None:
            numbers, spent = iter(range(begin, len(texts.all))), "scanned"
        elif self._index(texts):
            numbers, spent = texts.index.candidates(found.marks, begin), "searched"
        else:
            return False
        for number in numbers:
            text = texts.all[number]
            self._left[spent] -= (len(text.text) + _TURNING) * len(value.spellings)
            if self._left[spent] < 0:
                return False
            if not may_hold(text.text, value):
                continue
            self._left[spent] -= _READING * len(text.text)
            place = text.place(value)
            if place is not None and kind != "document":
                found.first[kind] = text, place
                break
            if place is not None:
                found.documents.append((text, place))
        return True

    def _index(self, texts: _Texts) -> bool:
        for text in texts.all[texts.index.texts :]:
            self._left["indexed"] -= len(text.text)
            if self._left["indexed"] < 0:
                return False
            texts.index.add(text.text)
        return True


def _holds(given: object, value: TellingValue) -> bool:
    text = given if isinstance(given, str) else write_json(given)
    return may_hold(text, value) and place_of(read_value(given), value) is not None
