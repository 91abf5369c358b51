"""The rows of computed views, written as parameters of the statement that asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from retrospan.ingest.answer.computed.comparison import Comparisons, run_diff
from retrospan.ingest.answer.computed.divergence import run_divergence
from retrospan.ingest.answer.computed.lookups import TooMuch
from retrospan.ingest.answer.computed.walk import provenance
from retrospan.queries.catalogue import View
from retrospan.schemas.literals import literal
from retrospan.schemas.store import Escaped, Parameters, Store

#: Computes the rows of a view, each with all of its columns, for the values of its parameters in their order.
Compute = Callable[[Comparisons, Sequence[str]], Sequence[Sequence[object]]]

COMPUTED: Mapping[str, Compute] = {
    "provenance": lambda comparisons, values: provenance(comparisons.store, values),
    "run_diff": run_diff,
    "run_divergence": run_divergence,
}


class Call(Protocol):
    """A call of a computed view: its values as they were written."""

    @property
    def view(self) -> View: ...
    @property
    def parameter(self) -> str: ...
    @property
    def values(self) -> Mapping[str, str]: ...


def given_rows(store: Store, calls: Sequence[Call], parameters: Parameters) -> dict[str, Escaped]:
    """Return the rows of each call, by the name of the parameter that they are to be.

    `parameters` are the reader's. The connection may not yet be one that only reads.

    Raises:
        TooMuch: some answer would hold too much in this process, or is longer than a parameter may be.
        SqlError: a value does not fit its parameter.
    """
    found: dict[str, Escaped] = {}
    comparisons = Comparisons(store)
    for call in calls:
        rows = COMPUTED[call.view.name](comparisons, _values(store, call, parameters))
        text = "[" + ",".join(map(_tuple, rows)) + "]"
        if len(text) > store.longest_parameter:
            raise TooMuch
        found[call.parameter] = Escaped(text)
    return found


def _values(store: Store, call: Call, parameters: Parameters) -> list[str]:
    """Return the values of the call in the order of the view's parameters, as the engine understands them."""
    asked = ", ".join(
        f"CAST({call.values[parameter.name]}, '{parameter.type}') AS {parameter.name}"
        for parameter in call.view.parameters
    )
    return [str(value) for value in store.rows(f"SELECT {asked}", parameters)[0]]


def _tuple(row: Sequence[object]) -> str:
    return "(" + ",".join(literal(value) for value in row) + ")"  # type: ignore[arg-type]
