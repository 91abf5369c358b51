"""A report of at most so many characters.

Quotations are shortened first, then sentences go, the last ones of each chapter first, then chapters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from retrospan.ingest.why.sentence import Chapter, Report

#: What a report holds at most, in characters, unless all of it is asked for.
CHARACTERS = 8_000
#: Characters of a quotation, from the first that is tried to the last.
QUOTATIONS = (600, 300, 160, 80, 40)
#: Sentences of a chapter likewise, at the shortest quotations.
_SENTENCES = (12, 8, 5, 3, 2, 1)
#: Chapters that go where even that is too long, one after the other.
_CHAPTERS = (
    "prompt",
    "others",
    "compared",
    "not_known",
    "different",
    "inputs",
    "lines",
    "value",
    "cause",
    "world",
)

#: Writes a report with quotations of at most so many characters; None: whole.
Write = Callable[[Report, int | None], str]


def fitted(report: Report, write: Write, most: int | None) -> str:
    """Return the report as written in at most `most` characters; None: whole.

    What was taken away is counted where it would stand. What went wrong first always stays.
    """
    if most is None:
        return write(report, None)
    text = ""
    for sentences in (None, *_SENTENCES):
        for quotation in QUOTATIONS if sentences is None else QUOTATIONS[1:]:
            shorter = report if sentences is None else _with(report, sentences)
            text = write(shorter, quotation)
            if len(text) <= most:
                return text
    shorter = _with(report, 1)
    for name in _CHAPTERS:
        kept = [chapter for chapter in shorter.chapters if chapter.name != name]
        gone = sum(
            len(chapter.sentences) + chapter.left_out for chapter in shorter.chapters if chapter.name == name
        )
        last = replace(kept[-1], left_out=kept[-1].left_out + gone)
        shorter = replace(shorter, chapters=[*kept[:-1], last])
        text = write(shorter, QUOTATIONS[-1])
        if len(text) <= most:
            return text
    text = write(replace(shorter, next=()), QUOTATIONS[-1])
    return text if len(text) <= most else text[: most - 2] + "…\n"


def _with(report: Report, most: int) -> Report:
    return replace(report, chapters=[_cut(chapter, most) for chapter in report.chapters])


def _cut(chapter: Chapter, most: int) -> Chapter:
    kept = chapter.sentences[:most]
    return replace(chapter, sentences=kept, left_out=chapter.left_out + len(chapter.sentences) - len(kept))
