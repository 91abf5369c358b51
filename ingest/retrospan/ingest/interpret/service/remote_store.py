"""The warehouse as the interpreting process sees it: it has none, and asks the collector's process for each answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import cast

from retrospan.schemas.errors import SqlError
from retrospan.schemas.store import Parameters, Settings, Store


@dataclass(frozen=True, slots=True)
class StoreQuery:
    """One question: a statement, for what the engine writes in a format; or whose a run is."""

    statement: str = ""
    parameters: Parameters = field(default_factory=dict)
    settings: Settings = field(default_factory=dict)
    output_format: str = ""
    run_id: str = ""


def answer_from(store: Store, owns: Callable[[str], bool]) -> Callable[[StoreQuery], object]:
    """Return what answers questions from a warehouse that is at hand."""

    def answer(asked: StoreQuery) -> object:
        if asked.run_id:
            return owns(asked.run_id)
        return store.query(asked.statement, asked.parameters, asked.settings, asked.output_format)

    return answer


class RemoteStore(Store):
    """A store that reads only. Belongs to one thread."""

    def __init__(self, ask: Callable[[StoreQuery], object]) -> None:
        """`ask` returns the answer, or raises what the warehouse raised."""
        self._ask = ask

    def owns(self, run_id: str) -> bool:
        """Whether a run is this interpreter's."""
        return cast(bool, self._ask(StoreQuery(run_id=run_id)))

    def query(
        self,
        statement: str,
        parameters: Parameters | None = None,
        settings: Settings | None = None,
        output_format: str = "JSONEachRow",
    ) -> bytes:
        return cast(bytes, self._ask(StoreQuery(statement, parameters or {}, settings or {}, output_format)))

    def write(
        self,
        descriptor: int,
        statement: str,
        parameters: Parameters | None = None,
        output_format: str = "TabSeparated",
    ) -> None:
        raise _refusal()

    def stopper(self) -> Callable[[], None]:
        raise _refusal()

    def keep(self, settings: Settings) -> None:
        raise _refusal()

    def command(
        self, statement: str, parameters: Parameters | None = None, settings: Settings | None = None
    ) -> None:
        raise _refusal()

    def insert(
        self,
        statement: str,
        data: bytes | Iterable[bytes],
        input_format: str,
        settings: Settings | None = None,
    ) -> None:
        raise _refusal()

    def close(self) -> None:
        """Nothing is open here."""


def _refusal() -> SqlError:
    return SqlError("A process that interprets asks the warehouse, and changes nothing in it.")
