"""Expectations as SQL: a statement over the views, of which `{run:String}` names the run, that gives one row with one
true value.

    SELECT count() <= 3 FROM tool_calls WHERE run_id = {run:String} AND tool_name = 'search_docs'

The warehouse answers it where a run comes from there. Elsewhere the engine does in a process of its own, over the rows
that a bundle holds.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence

from retrospan.schemas.bundle.form import Json, RunRecord
from retrospan.schemas.bundle.tables import COLUMNS, rows_of
from retrospan.schemas.errors import MissingExtra, PermanentError

_ENGINE = "retrospan.ingest.bundle.sql_engine"
_NO_ENGINE = 3
#: The name of a run in a statement, however it is spaced.
_RUN = re.compile(r"\{\s*run\s*:\s*String\s*\}")
_FALSE: tuple[Json, ...] = (None, False, 0, "", "0", "false", [], {})


def check_sql(statement: str) -> None:
    """Raise ValueError if this cannot be an expectation."""
    if not _RUN.search(statement):
        raise ValueError(
            f"'{statement}' does not name the run: write … WHERE run_id = {{run:String}}, or it would be about all runs"
        )


def unmet_by(rows: Sequence[Sequence[Json]]) -> str | None:
    """Return why an answer does not say that what is expected holds, None if it does."""
    if len(rows) != 1:
        return "it gives no row" if not rows else f"it gives {len(rows)} rows, and not one"
    if len(rows[0]) != 1:
        return f"it gives {len(rows[0])} values, and not one"
    (value,) = rows[0]
    return f"it gives {json.dumps(value, ensure_ascii=False)}" if value in _FALSE else None


def unmet_offline(asked: Sequence[tuple[RunRecord, Sequence[str]]]) -> list[list[str]]:
    """Return for each run which of its statements do not hold over what the bundle has of it, each with what it gives.

    Raises:
        MissingExtra: no engine is installed.
        PermanentError: the engine could not be asked.
    """
    if not any(statements for _, statements in asked):
        return [[] for _ in asked]
    told = {
        "columns": COLUMNS,
        "runs": [
            {"run_id": run.run_id, "rows": rows_of(run), "statements": [*statements]}
            for run, statements in asked
        ],
    }
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-m", _ENGINE], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        said, trouble = process.communicate(json.dumps(told))
    if process.returncode == _NO_ENGINE:
        raise MissingExtra("embedded", module="chdb, which answers expectations in SQL,")
    if process.returncode:
        raise PermanentError(f"expectations in SQL were not answered: {trouble.strip()[-500:]}")
    answers = json.loads(said)
    return [
        [f"{text}: {why}" for text, answer in zip(statements, found, strict=True) if (why := _why(answer))]
        for (_, statements), found in zip(asked, answers, strict=True)
    ]


def _why(answer: dict[str, Json]) -> str | None:
    if "error" not in answer:
        rows = answer["rows"]
        assert isinstance(rows, list)
        return unmet_by(rows)
    return (
        f"it cannot be answered: {answer['error']} (a bundle holds, of runs, model_calls and tool_calls, "
        "the columns that docs/golden.md lists)"
    )
