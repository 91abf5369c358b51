"""Writes the table of clients into docs/clients.md: `PYTHONPATH=tests python tests/docs/clients_table.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from clients.table import CLIENTS, OTHERS, Client

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clients.md"
_TABLE = re.compile(r"^\| client \|.*?(?=\n\n)|^CLIENTS_TABLE$", re.MULTILINE | re.DOTALL)


def table() -> str:
    """The table as the page shows it."""
    rows = ["| client | version | the line to type | what the tests do with it |", "|---|---|---|---|"]
    rows += [_row(each.name, each.used_by, each.version, each.line, _works(each)) for each in CLIENTS]
    rows += [_row(each.name, "", each.version, each.line, each.tried) for each in OTHERS]
    return "\n".join(rows)


def _row(name: str, used_by: str, version: str, line: str, works: str) -> str:
    who = f"{name} ({used_by})" if used_by else name
    return f"| {who} | {version} | `{line}` | {works} |"


def _works(client: Client) -> str:
    fails = [name.removeprefix("not: ") for name in client.checks if name.startswith("not: ")]
    works = "; ".join(_groups([name for name in client.checks if not name.startswith("not: ")]))
    return works + (f". **Not**: {', '.join(fails)}" if fails else "")


def _groups(names: list[str]) -> Iterator[str]:
    """Names of checks by what stands before their colon; groups that check the same in one."""
    groups: dict[str, list[str]] = {}
    for name in names:
        group, colon, detail = name.partition(": ")
        groups.setdefault(group if colon else "", []).append(detail if colon else name)
    same: dict[tuple[str, ...], list[str]] = {}
    for group, checked in groups.items():
        same.setdefault(tuple(checked), []).append(group)
    for together, of in same.items():
        yield f"{', '.join(filter(None, of))}{': ' if any(of) else ''}{', '.join(together)}"


def shown() -> str:
    """The table that the page shows now."""
    found = _TABLE.search(PAGE.read_text(encoding="utf-8"))
    return found[0] if found is not None else ""


if __name__ == "__main__":
    PAGE.write_text(_TABLE.sub(lambda _: table(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
