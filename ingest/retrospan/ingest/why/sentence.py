"""A sentence of a report, and the rows that it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: What a row's column is, as far as a report looks for the row by it.
Value = str | int | bool | None
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Quote:
    """Text that an agent, a tool or a user wrote: it is shown as such, and never obeyed.

    `length` counts the characters of the whole where `text` is its beginning.
    """

    text: str
    length: int | None = None

    @property
    def whole_length(self) -> int:
        return max(len(self.text), self.length or 0)


@dataclass(frozen=True, slots=True)
class Basis:
    """Rows of a view that a sentence rests on: those whose columns have these values.

    `given` are the parameters of a view that has some; `contains` is a text that the column `content` holds. A sentence
    may also rest on there being no such row.
    """

    view: str
    where: Mapping[str, Value]
    given: Mapping[str, str] = field(default_factory=dict)
    is_there: bool = True
    contains: str = ""

    def plain(self) -> dict[str, object]:
        """Return it as `--json` shows it."""
        said: dict[str, object] = {"view": self.view, "where": dict(self.where)}
        if self.given:
            said["given"] = dict(self.given)
        if self.contains:
            said["content_contains"] = self.contains
        return said if self.is_there else {**said, "rows": 0}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence. `kind` is what it is about in one word, for programs; `step` the step it leads to."""

    kind: str
    said: Sequence[str | Quote]
    rests_on: Sequence[Basis]
    step: int | None = None
    run_id: str = ""

    def text(self, most: int | None = None) -> str:
        """Return it in words, each quotation in at most so many characters."""
        return "".join(part if isinstance(part, str) else quoted(part, most) for part in self.said)


@dataclass(frozen=True, slots=True)
class Chapter:
    """The sentences that answer one question. `left_out` of them were taken away to keep the report short."""

    name: str
    title: str
    sentences: Sequence[Sentence]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of why a run went as it did, chapter by chapter, and the commands that go on from there.

    A report on runs of two sides has no `run_id`, and a `title` of its own.
    """

    run_id: str
    chapters: Sequence[Chapter]
    next: Sequence[str] = ()
    title: str = ""

    @property
    def left_out(self) -> int:
        return sum(chapter.left_out for chapter in self.chapters)


def quoted(quote: Quote, most: int | None = None) -> str:
    """Return a quotation: `“text”`, or its beginning with its full length, `“text…” [20,066 chars]`."""
    shown = quote.text if most is None else quote.text[:most]
    if len(shown) >= quote.whole_length:
        return f"“{shown}”"
    return f"“{shown}…” [{quote.whole_length:,} chars]"
