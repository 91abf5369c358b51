"""The page about the views, generated from their headers: `python -m retrospan.queries.document > docs/views.md`.

A test checks that the page in the repository equals what `render` returns.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from retrospan.queries.catalogue import View, views

_INTRODUCTION = """\
# The views

Everything Retrospan knows can be queried in SQL, through these views of the database `retrospan`. The command line, the
Python interface and dashboards read nothing else. Columns may be added; none is renamed or changes its meaning.

- Unknown values are NULL, never 0 and never an empty text.
- Ids are lower-case hexadecimal text. Times are UTC with nanoseconds. JSON is text. Hashes have 32 hex digits.
- Filter on `run_id` (or `trace_id` of `spans` and `logs`) wherever you can: it leads the primary keys. Name the columns
  you need: payloads are read only if you select them.
- Views with parameters are called like functions, with all their parameters: `run_state(run_id = '…', step = 5)`.
  Pass literals or parameters, in a SELECT without WITH: the port answers that twice as fast as any other call.
- In the examples `{run_id:String}` stands for a value that you pass separately (`param_run_id` over HTTP).

This page is generated from the headers of `queries/retrospan/queries/views/*.sql`.
"""


def render(found: Iterable[View]) -> str:
    """Return the page, views without parameters first, by name."""
    ordered = sorted(found, key=lambda view: (bool(view.parameters), view.name))
    return _INTRODUCTION + "".join(_section(view) for view in ordered)


def _section(view: View) -> str:
    given = ", ".join(f"{parameter.name} {parameter.type}" for parameter in view.parameters)
    title = view.title[0].upper() + view.title[1:]
    lines = [f"\n## {view.name}{f'({given})' if given else ''}", "", f"{title}.", ""]
    for note in view.notes:
        lines += [note[0].upper() + note[1:] if note[0] != "`" else note, ""]
    lines += ["| column | type | meaning |", "|---|---|---|"]
    lines += [f"| {column.name} | `{column.type}` | {_cell(column.meaning)} |" for column in view.columns]
    for example in view.examples:
        lines += ["", "```sql", example, "```"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\\x", "\\\\x")


if __name__ == "__main__":
    sys.stdout.write(render(views()))
