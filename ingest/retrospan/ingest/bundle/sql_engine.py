"""`python -m retrospan.ingest.bundle.sql_engine`: answers statements over the rows of runs, in a process that ends with
them.

Reads a JSON object from standard input: `columns` (by view) and `runs`, each with its `run_id`, `rows` (by view) and
`statements`. Writes a list for each run: for each statement what came, `{"rows": [[…], …]}` or `{"error": text}`. Ends
with 3 where no engine is installed.

A statement may come from somebody else's golden run: as on a collector's port each passes the guard, so that it reads
no file, asks no other machine and writes nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from retrospan.ingest.answer.guard.allowlist import Allowlist
from retrospan.ingest.answer.guard.guard import Guard
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import MissingExtra, RetrospanError, SqlError
from retrospan.schemas.store import Store

#: The exit code that says that no engine is installed.
NO_ENGINE = 3
#: No answer without end.
_SECONDS, _ROWS, _BYTES = 60, 1_000, 1 << 30


def main() -> int:
    """Answer what standard input asks."""
    asked = json.load(sys.stdin)
    answers = list[list[dict[str, object]]]()
    with TemporaryDirectory(prefix="retrospan-expect-") as place:
        warehouse = EmbeddedWarehouse(Path(place), query_memory_bytes=_BYTES, query_seconds=_SECONDS)
        try:
            store = warehouse.connect()
        except MissingExtra:
            return NO_ENGINE
        with closing(warehouse):
            reader = warehouse.connect({"max_result_rows": _ROWS, "readonly": 1})
            guard = Guard(Allowlist.read(store))
            for run in asked["runs"]:
                _fill(store, asked["columns"], run["rows"])
                answers.append([*_answers(reader, guard, run["run_id"], run["statements"])])
    json.dump(answers, sys.stdout)
    return 0


def _fill(
    store: Store,
    columns: Mapping[str, Mapping[str, str]],
    rows: Mapping[str, Sequence[Mapping[str, object]]],
) -> None:
    for view, types in columns.items():
        structure = ", ".join(f"{name} {kind}" for name, kind in types.items())
        store.command(f"CREATE OR REPLACE TABLE {view} ({structure}) ENGINE = Memory")
        # Half a surrogate pair has no UTF-8.
        data = "".join(f"{json.dumps(row)}\n" for row in rows[view]).encode()
        if data:
            store.insert(f"INSERT INTO {view}", data, "JSONEachRow")


def _answers(
    reader: Store, guard: Guard, run_id: str, statements: Sequence[str]
) -> Iterator[dict[str, object]]:
    for statement in statements:
        try:
            checked = guard.check(statement, {"run": run_id})
            if checked.output_format or checked.settings:
                raise SqlError("leave out FORMAT and SETTINGS")
            said = reader.query(checked.sql, {"run": run_id}, output_format="JSONCompactEachRow")
        except RetrospanError as error:
            yield {"error": " ".join(str(error).split())}
        else:
            yield {"rows": [json.loads(line) for line in said.splitlines() if line.strip()]}


if __name__ == "__main__":
    sys.exit(main())
