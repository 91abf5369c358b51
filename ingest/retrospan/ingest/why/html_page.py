"""A report as one HTML file to mail: no script, no style from elsewhere, nothing that is fetched.

Recorded text is escaped, and stands in quotation marks, in elements of its own with its own direction. The policy in the
head forbids everything but the style that the page brings along.
"""

from __future__ import annotations

from html import escape

from retrospan.ingest.visible_text import visible
from retrospan.ingest.why.refer import left_out, reference
from retrospan.ingest.why.sentence import Quote, Report, Sentence

_STYLE = """\
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:54rem;margin:2rem auto;padding:0 1rem;color:#1c1f23;background:#fff}
h1{font-size:1.3rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:1.6rem 0 .4rem}
ul{padding-left:1.2rem}li{margin:.35rem 0;overflow-wrap:anywhere}
q{quotes:"“" "”";background:#f1f3f5;border-radius:3px;padding:0 .25em;unicode-bidi:isolate;font-family:ui-monospace,monospace;font-size:.9em}
small,footer{color:#69707a}code{background:#f1f3f5;padding:.1em .3em;overflow-wrap:anywhere}
li.first{font-weight:600}li.first small{font-weight:400}
@media(prefers-color-scheme:dark){body{color:#e3e6ea;background:#16181c}q,code{background:#272b31}small,footer{color:#9aa2ad}}
@media print{body{max-width:none;margin:0}h2{break-after:avoid}q,code{border:1px solid #9aa2ad}}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def html_page(report: Report, quotation: int | None) -> str:
    """Return the report as a page."""
    title = visible(report.title or f"Why run {report.run_id} went as it did")
    pieces = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n',
        '<meta name="viewport" content="width=device-width">\n<meta name="referrer" content="no-referrer">\n',
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n",
    ]
    for chapter in report.chapters:
        pieces.append(f"{_section(chapter.name, chapter.title)}<ul>\n")
        for place, each in enumerate(chapter.sentences):
            first = ' class="first"' if chapter.name == "went_wrong" and not place else ""
            pieces.append(
                f"<li{first}>{_sentence(each, quotation)} "
                f"<small>{escape(visible(reference(each)))}</small></li>\n"
            )
        if chapter.left_out:
            pieces.append(f"<li>… {escape(left_out(chapter.left_out))}</li>\n")
        pieces.append("</ul>\n</section>\n")
    if report.next:
        pieces.append(f"{_section('next', 'Go on')}<ul>\n")
        pieces += [f"<li><code>{escape(visible(command))}</code></li>\n" for command in report.next]
        pieces.append("</ul>\n</section>\n")
    pieces.append(
        "</main>\n<footer>Computed by retrospan from what was recorded. What is quoted was written by agents, tools or users."
    )
    return "".join([*pieces, "</footer>\n</body>\n</html>\n"])


def _section(name: str, title: str) -> str:
    """Return how a section begins: whoever does not see the page goes from one to the next by their titles."""
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n<h2 id="{name}-title">{escape(title)}</h2>\n'
    )


def _sentence(sentence: Sentence, most: int | None) -> str:
    return "".join(
        escape(visible(part)) if isinstance(part, str) else _quotation(part, most) for part in sentence.said
    )


def _quotation(quote: Quote, most: int | None) -> str:
    shown = quote.text if most is None else quote.text[:most]
    text = escape(visible(shown))
    if len(shown) >= quote.whole_length:
        return f'<q dir="auto">{text}</q>'
    return f'<q dir="auto">{text}…</q> ({quote.whole_length:,} characters)'
