"""A report as lines of text."""

from __future__ import annotations

from retrospan.ingest.why.refer import left_out, reference
from retrospan.ingest.why.sentence import Report


def lines(report: Report, quotation: int | None) -> list[tuple[str, str]]:
    """Return the lines, each with what it is: title, sentence, rest (its rows), left_out, next or blank."""
    found: list[tuple[str, str]] = []
    for place, chapter in enumerate(report.chapters):
        found += [("blank", "")] if place else []
        found.append(("title", chapter.title))
        for sentence in chapter.sentences:
            # Line breaks of a quotation are not those of the report.
            text = sentence.text(quotation).replace("\r", "\\r").replace("\n", "\\n")
            found.append(("sentence", f"  - {text} [{reference(sentence)}]"))
        if chapter.left_out:
            found.append(("left_out", f"  … {left_out(chapter.left_out)}"))
    if report.next:
        found += [("blank", ""), ("next", "next: " + " · ".join(report.next))]
    return found


def plain(report: Report, quotation: int | None) -> str:
    """Return the report as text."""
    return "".join(f"{line}\n" for _, line in lines(report, quotation))
