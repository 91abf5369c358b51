"""A report as Markdown, in which nothing that was recorded is markup.

Recorded text stands in code spans: inside them nothing is a link, an image or HTML. A span is closed by as many
backticks as opened it, and it is opened by more than the text holds in a row.
"""

from __future__ import annotations

import re

from retrospan.ingest.visible_text import visible
from retrospan.ingest.why.refer import left_out, reference
from retrospan.ingest.why.sentence import Quote, Report, Sentence

_TICKS = re.compile("`+")
#: What Markdown or HTML gives a meaning to, in our own sentences and in names that stand outside of quotations.
_MARKS = re.compile(r"([\\`*_\[\]<>#|~&!])")


def markdown(report: Report, quotation: int | None) -> str:
    """Return the report as Markdown."""
    title = escaped(report.title) if report.title else f"Why run {code(report.run_id)} went as it did"
    pieces = [f"# {title}\n"]
    for chapter in report.chapters:
        pieces.append(f"\n## {escaped(chapter.title)}\n\n")
        pieces += [
            f"- {_sentence(each, quotation)} *({escaped(reference(each))})*\n" for each in chapter.sentences
        ]
        if chapter.left_out:
            pieces.append(f"- … {escaped(left_out(chapter.left_out))}\n")
    if report.next:
        pieces.append("\n## Go on\n\n")
        pieces += [f"- {code(command)}\n" for command in report.next]
    return "".join(pieces)


def _sentence(sentence: Sentence, most: int | None) -> str:
    return "".join(
        escaped(part) if isinstance(part, str) else quotation(part, most) for part in sentence.said
    )


def quotation(quote: Quote, most: int | None) -> str:
    """Return recorded text as a code span, with its full length where it is cut."""
    shown = quote.text if most is None else quote.text[:most]
    if len(shown) >= quote.whole_length:
        return code(shown)
    return f"{code(shown + '…')} ({quote.whole_length:,} characters)"


def code(text: str) -> str:
    """Return text as a code span on one line; an empty one as two quotation marks."""
    # A blank line would end the paragraph, and the span with it.
    flat = visible(text)
    if not flat.strip():
        return "“”" if not flat else f"“{len(flat):,} blanks”"
    longest = max((len(run) for run in _TICKS.findall(flat)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {flat} {fence}" if flat[0] in "` " or flat[-1] in "` " else f"{fence}{flat}{fence}"


def escaped(text: str) -> str:
    """Return text in which no character is markup."""
    return _MARKS.sub(r"\\\1", visible(text))
