"""Writes the pages of docs/dialects from the dialects' modules: `python tests/docs/dialect_pages.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from retrospan.ingest.interpret.dialects import DIALECTS
from retrospan.ingest.interpret.dialects.dialect import Dialect

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "dialects"
#: The folder's own page is written by hand.
BY_HAND = "README.md"
_IN_WORDS = ("event ", "log record ")


def module_of(dialect: Dialect) -> str:
    """The file name of the dialect's module."""
    return f"{dialect.speaks.__module__.rpartition('.')[2]}.py"


def page(dialect: Dialect) -> str:
    """The page of a dialect."""
    return "\n".join(_lines(dialect))


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {f"{dialect.name}.md": page(dialect) for dialect in DIALECTS}


def _lines(dialect: Dialect) -> Iterator[str]:
    about, module = dialect.page, module_of(dialect)
    yield f"# {about.title}"
    yield ""
    yield f"`spans.dialect` is `{dialect.name}`. Recognised by {about.recognised}."
    yield f"This page is generated from [{module}](../../ingest/retrospan/ingest/interpret/dialects/{module})."
    yield ""
    yield "## How to point it here"
    yield ""
    yield "`retrospan serve` listens where exporters send by default. Another address:"
    yield "[instrumentation](../instrumentation.md)."
    yield ""
    for producer in about.producers:
        yield f"{producer.name}:"
        yield ""
        yield f"```{producer.language}"
        yield producer.lines
        yield "```"
        yield ""
    yield "## What is read from where"
    yield ""
    yield "First place first; the [general rules](../dialects.md#the-general-rules) know more."
    if not about.is_recorded:
        yield "No recorded traffic of it is in this project; its forms are tried with spans made by hand."
    yield ""
    yield "| field | read from |"
    yield "|---|---|"
    for source in about.sources:
        yield f"| {source.field} | {', '.join(map(_place, source.places))} |"
    yield ""
    yield f"Of its own: {about.own[0].lower()}{about.own[1:]}"
    yield ""
    yield "## What it does not send"
    yield ""
    lacks = [(producer.name, lack) for producer in about.producers for lack in producer.lacks]
    yield from (f"- {name}: {lack}." for name, lack in lacks)
    if not lacks:
        yield "Nothing that the recordings should have."
    yield ""
    if dialect.switches:
        yield "Sent only when told so:"
        yield ""
        yield "| layer | scope of the instrumentation | what turns it on |"
        yield "|---|---|---|"
        for switch in dialect.switches:
            yield f"| {switch.layer} | {f'`{switch.scope}`' if switch.scope else 'any'} | {switch.how} |"
        yield ""


def _place(place: str) -> str:
    for words in _IN_WORDS:
        if place.startswith(words):
            return f"{words}`{place.removeprefix(words)}`"
    return place if place.startswith("the ") else f"`{place}`"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        if old.name != BY_HAND:
            old.unlink()
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
