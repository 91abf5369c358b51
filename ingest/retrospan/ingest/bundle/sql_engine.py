"""`python -m retrospan.ingest.bundle.sql_engine`: answers statements over the rows of runs, in a process that ends with them.

Reads a JSON object from standard input: `columns` (by view) and `runs`, each with its `run_id`, `rows` (by view) and `statements`. Writes a list
for each run: for each statement what came, `{"rows": [[…], …]}` or `{"error": text}`. Ends with 3 where no engine is installed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from retrospan.schemas.literals import parameter_text

#: The exit code that says that no engine is installed.
NO_ENGINE = 3
_FORMAT = "JSONCompactEachRow"
#: Nothing but questions, and no answer without end.
_SETTINGS = ("SET max_execution_time = 60", "SET max_result_rows = 1000", "SET readonly = 2")


def main() -> int:
    """Answer what standard input asks."""
    # At its import the engine looks for pyarrow, for results that nobody here asks it for.
    sys.modules["pyarrow"] = cast(Any, None)
    try:
        session: Any = import_module("chdb.session")
    except ImportError:
        return NO_ENGINE
    asked = json.load(sys.stdin)
    answers = list[list[dict[str, object]]]()
    for run in asked["runs"]:
        with TemporaryDirectory(prefix="retrospan-expect-") as place:
            opened = session.Session(str(Path(place) / "engine"))
            try:
                _fill(opened, Path(place), asked["columns"], run["rows"])
                answers.append([*_answers(opened, run["run_id"], run["statements"])])
            finally:
                opened.close()
    json.dump(answers, sys.stdout)
    return 0


def _fill(
    opened: Any,
    place: Path,
    columns: Mapping[str, Mapping[str, str]],
    rows: Mapping[str, Sequence[Mapping[str, object]]],
) -> None:
    for view, types in columns.items():
        file = place / f"{view}.jsonl"
        # Half a surrogate pair has no UTF-8.
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows[view]), encoding="utf-8")
        structure = ", ".join(f"{name} {kind}" for name, kind in types.items())
        opened.query(f"CREATE TABLE {view} ({structure}) ENGINE = Memory")
        opened.query(f"INSERT INTO {view} SELECT * FROM file('{file}', JSONEachRow, '{structure}')")
    for setting in _SETTINGS:
        opened.query(setting)


def _answers(opened: Any, run_id: str, statements: Sequence[str]) -> Iterator[dict[str, object]]:
    for statement in statements:
        try:
            said = str(opened.query(statement, _FORMAT, params={"run": parameter_text(run_id)}))
            rows = [json.loads(line) for line in said.splitlines() if line.strip()]
        except Exception as error:  # noqa: BLE001 - whatever the engine says of a statement is its answer
            yield {"error": " ".join(str(error).split())}
        else:
            yield {"rows": rows if all(isinstance(row, list) for row in rows) else []}


if __name__ == "__main__":
    sys.exit(main())
