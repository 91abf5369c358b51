"""What the pages of docs/dialects say, and the tables of switches that the code gives them.

`python tests/docs/dialect_pages.py` renews those tables; the rest of a page is written by hand.
"""

from __future__ import annotations

import re
from pathlib import Path

from retrospan.ingest.interpret.dialects import DIALECTS
from retrospan.ingest.interpret.dialects.dialect import Dialect

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "dialects"
LISTING = FOLDER / "README.md"
UNRECORDED = "There is no recorded traffic of it in this project"
_SOURCES = re.compile(r"^\| field \| read from \|\n\|---\|---\|\n((?:\|.*\n)+)", re.MULTILINE)
_SWITCHES = re.compile(r"^\| layer \| scope of the instrumentation \|.*\n(?:\|.*\n)+", re.MULTILINE)


def path_of(dialect: Dialect) -> Path:
    """The page of a dialect."""
    return FOLDER / f"{dialect.name}.md"


def text_of(dialect: Dialect) -> str:
    """What the page of a dialect says."""
    return path_of(dialect).read_text(encoding="utf-8")


def places(dialect: Dialect) -> list[str]:
    """The attributes, events and log records that the page names in its table of fields."""
    table = _SOURCES.search(text_of(dialect))
    assert table is not None, f"{path_of(dialect).name} has no table of fields"
    cells = [row.split("|")[2] for row in table[1].splitlines()]
    return [place.strip().replace("`", "") for cell in cells for place in cell.split(", ")]


def switches(text: str) -> str:
    """The table of switches that a page shows; '' when it has none."""
    found = _SWITCHES.search(text)
    return found[0] if found else ""


def switches_of(dialect: Dialect) -> str:
    """The table of switches that the page of a dialect should show."""
    rows = ["| layer | scope of the instrumentation | what turns it on |", "|---|---|---|"]
    rows += [
        f"| {switch.layer} | {f'`{switch.scope}`' if switch.scope else 'any'} | {switch.how} |"
        for switch in dialect.switches
    ]
    return "\n".join([*rows, ""]) if dialect.switches else ""


if __name__ == "__main__":
    for each in DIALECTS:
        if each.switches:
            text = text_of(each).replace(switches(text_of(each)), switches_of(each))
            path_of(each).write_text(text, encoding="utf-8")
