"""A list of whole steps, model calls or messages, `SELECT * FROM steps LIMIT 10`, read from the runs of its rows alone.

The views join the values of runs to their steps and calls, and the engine does so for all runs before it keeps ten rows.
At five million spans that is more memory than a query may take. The port first finds the runs of those rows, by the
columns that decide and without values, and then reads the view for these runs only. Among rows that tie for the last
place others may be chosen, as in any statement whose ORDER BY leaves ties open.

Only plain columns of one view and a LIMIT in numbers are understood; any other statement stays as it is. Pure.
"""

from __future__ import annotations

from retrospan.ingest.answer.guard.allowlist import word_set
from retrospan.ingest.answer.rewriting.first_rows import are_columns, is_order, most_rows, parts, spaced
from retrospan.ingest.answer.rewriting.lean_views import lean, payloads

_MESSAGES = "messages"
#: What is known of a message by its value alone.
_OF_VALUES = word_set("role message_hash content first_call new_in_call")
#: The runs of so many calls that have messages: of these there are as many at least.
_RUNS_OF_MESSAGES = """
SELECT c.run_id
FROM canon_model_calls AS c
INNER JOIN (SELECT tenant, run_id, generation FROM canon_runs FINAL WHERE NOT deleted) AS p
    USING (tenant, run_id, generation)
WHERE notEmpty(c.input_values) OR notEmpty(c.output_values)
"""


def runs_first(sql: str) -> str:
    """Return the statement as it reads values of few runs, or as it is. `sql` is one that the guard let through, with views
    named without their database."""
    for view, payload in payloads().items():
        found = parts(sql, view)
        if found is None:
            continue
        columns, where, order, limit = found
        most = most_rows(limit)
        decided_by = {token.value for token in (*where, *order)}
        if not are_columns(columns, view, payload) or not is_order(order, view) or most is None:
            return sql
        if decided_by & payload or any(token.value == "run_id" for token in where):
            return sql  # the values decide, or the runs are named already
        condition = f" WHERE {spaced(where)}" if where else ""
        also = f" AND ({spaced(where)})" if where else ""
        sorted_by = f" ORDER BY {spaced(order)}" if order else ""
        runs = lean(f"SELECT run_id FROM {view}{condition}{sorted_by} LIMIT {most}")
        return f"SELECT {spaced(columns)} FROM {view} WHERE run_id IN ({runs}){also}{sorted_by} LIMIT {spaced(limit)}"
    return _any_messages(sql)


def _any_messages(sql: str) -> str:
    found = parts(sql, _MESSAGES)
    if found is None:
        return sql
    columns, where, order, limit = found
    most = most_rows(limit)
    if where or order or most is None or not are_columns(columns, _MESSAGES, _OF_VALUES):
        return sql
    runs = f"{_RUNS_OF_MESSAGES}LIMIT {most}"
    return f"SELECT {spaced(columns)} FROM {_MESSAGES} WHERE run_id IN ({runs}) LIMIT {spaced(limit)}"
