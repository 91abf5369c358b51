"""Columns of a row as what they are, and words that sentences share."""

from __future__ import annotations

from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.sentence import Quote, Row


def quote_of(row: Row, name: str, length: str | None = None) -> Quote | None:
    """Return a column as a quotation; `length` names the column that counts the characters of the whole."""
    value = text_of(row, name)
    return None if value is None else Quote(value, None if length is None else whole(row, length))


def kin(run: Row) -> str:
    """Return what a run has in common with those that it is seen beside: what is on record of agent and service."""
    known = [
        word for word, name in (("agent", "agent_name"), ("service", "service_name")) if run[name] is not None
    ]
    return f"of the same {' and '.join(known)}" if known else "of any agent and service"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 run`, `1,204 runs`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def steps_text(first: int | None, last: int | None) -> str:
    """` (step 2)`, ` (steps 2 to 12)`, or that there is none."""
    if first is None or last is None:
        return " (no step: the tool has no span)"
    return f" (step {first})" if first == last else f" (steps {first} to {last})"
