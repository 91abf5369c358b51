"""Rows of a store with the types of their columns, which the statement promises and the caller names.

    for trace_id, rows in typed_rows(store, tuple[str, int], load("sizes"), {"tenant": tenant}):

Nothing is converted, so nothing is checked at run time: a type here is a claim about the statement.
"""

from __future__ import annotations

from typing import Any, TypeVar

from retrospan.schemas.store import Parameters, Store

Row = TypeVar("Row", bound=tuple[object, ...])
Value = TypeVar("Value")


def typed_rows(
    store: Store, row: type[Row], statement: str, parameters: Parameters | None = None
) -> list[Row]:
    """Run one SELECT; a row is a tuple of these types, or a NamedTuple with these fields."""
    # A NamedTuple is made by its class: fields with a default need no column.
    make: Any = row if hasattr(row, "_fields") else lambda *columns: columns
    return [make(*columns) for columns in store.rows(statement, parameters)]


def typed_column(
    store: Store, value: type[Value], statement: str, parameters: Parameters | None = None
) -> list[Value]:
    """Run one SELECT of one column; its values, which are of this type."""
    return [column for (column,) in store.rows(statement, parameters)]  # type: ignore[misc]  # the claim
