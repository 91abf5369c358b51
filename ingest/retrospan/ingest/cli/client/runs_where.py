"""The runs of which a condition in the user's own SQL is true."""

from __future__ import annotations

from collections.abc import Mapping

from retrospan.ingest.cli.client.run_filters import expression
from retrospan.ingest.cli.client.session import Session


def runs_where(session: Session, condition: str, values: Mapping[str, str], most: int) -> list[str]:
    """Return the newest runs of which the condition is true: a statement of theirs, guarded as any.

    Raises ValueError if it is not one condition, SqlError if the collector refuses it.
    """
    statement = (
        f"SELECT run_id FROM runs WHERE (\n{expression(condition)}\n)\n"
        f"ORDER BY started_at DESC, run_id LIMIT {most}"
    )
    return [str(row["run_id"]) for row in session.warehouse.ask(statement, dict(values)).rows]
