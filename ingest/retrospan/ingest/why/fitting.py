"""A report of at most so many characters: quotations are shortened first, then whole sentences go, the last ones first."""

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

#: Writes a report with quotations of at most so many characters; None: whole.
Write = Callable[[Report, int | None], str]


def fitted(report: Report, write: Write, most: int | None) -> str:
    """Return the report as written in at most `most` characters; None: whole.

    The first sentence of each chapter always stays, and what was taken away is counted.
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
    return text[: most - 2] + "…\n"


def _with(report: Report, most: int) -> Report:
    return replace(report, chapters=[_cut(chapter, most) for chapter in report.chapters])


def _cut(chapter: Chapter, most: int) -> Chapter:
    kept = chapter.sentences[:most]
    return replace(chapter, sentences=kept, left_out=chapter.left_out + len(chapter.sentences) - len(kept))
