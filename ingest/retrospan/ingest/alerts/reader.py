"""Asks the warehouse what rules want to know: guarded, limited and read-only, as readers of the SQL port are.

Each statement runs in a thread of its own. One that cannot be stopped is left behind, so that it holds up nobody else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace

from retrospan.ingest.answer.questions import Question, Understanding, with_rows
from retrospan.ingest.http.messages import Request
from retrospan.ingest.settings.config import AlertSettings, Limits
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import TIMEOUT_EXCEEDED, RetrospanError, SqlError
from retrospan.schemas.store import Store, read_rows

#: An answer is one row, or a few short ones: more is a mistake of the rule.
_MOST_ROWS, _MOST_BYTES = 100, 1 << 20
_STOP_SECONDS = 5.0
#: Statements that could not be stopped; with so many nothing more is asked.
_MOST_LEFT = 4


class AlertReader:
    """Safe to use from several threads."""

    def __init__(
        self,
        warehouse: Warehouse,
        limits: Limits,
        settings: AlertSettings,
        reader_of: Callable[[str], Store],
    ) -> None:
        """`reader_of` gives a connection that sees what is a tenant's."""
        own = replace(
            limits,
            query_seconds=min(settings.query_seconds, limits.query_seconds),
            query_memory_bytes=min(settings.query_memory_bytes, limits.query_memory_bytes),
            query_threads=1,
            query_result_rows=_MOST_ROWS,
            query_result_bytes=_MOST_BYTES,
        )
        self._seconds = own.query_seconds
        self._warehouse = warehouse
        self._reader_of = reader_of
        self._understanding = Understanding(warehouse, own, lambda: None)
        self._counting = threading.Lock()
        self._left = 0

    def learn(self) -> None:
        """Read the engine's functions and the installed views again; call it after views changed."""
        self._understanding.learn()

    def rows(self, sql: str, parameters: Mapping[str, str], tenant: str) -> list[list[object]]:
        """Run one statement with parameters; '' as the tenant sees everybody's rows.

        Raises:
            SqlError: the guard or the engine refused it, or it took too long.
            WarehouseUnavailable: the engine is not there, or had not the memory.
        """
        self._understanding.prepare()
        query = {f"param_{name}": value for name, value in parameters.items()}
        query["default_format"] = "JSONCompactEachRow"
        request = Request("POST", "/", query, headers={}, body=sql.encode(), overlong=False)
        question = self._understanding.understood(request)
        assert question is not None, "the statement is not empty"
        with self._counting:
            if self._left >= _MOST_LEFT:
                raise SqlError(
                    f"{self._left} statements of rules could not be stopped, so no more are asked."
                )
        return self._within_time(question, tenant)

    def _within_time(self, question: Question, tenant: str) -> list[list[object]]:
        done: Future[bytes] = Future()
        stoppers: list[Callable[[], None]] = []
        threading.Thread(
            target=self._ask,
            args=(question, tenant, stoppers, done),
            name="retrospan-alert-query",
            daemon=True,
        ).start()
        late = f"it took longer than alerts.query_seconds ({self._seconds:g} s)"
        try:
            return list(read_rows(done.result(self._seconds + _STOP_SECONDS / 5)))
        except TimeoutError:
            pass
        for _ in range(5):
            for stopper in [*stoppers]:
                with suppress(RetrospanError, RuntimeError, OSError):
                    stopper()
            try:
                done.result(_STOP_SECONDS / 5)
            except TimeoutError:
                continue
            except RetrospanError:
                pass
            raise SqlError(f"{late} and was stopped.", code=TIMEOUT_EXCEEDED)
        with self._counting:
            self._left += 1
        done.add_done_callback(self._ended)
        raise SqlError(f"{late} and could not be stopped.", code=TIMEOUT_EXCEEDED)

    def _ended(self, done: Future[bytes]) -> None:
        with self._counting:
            self._left -= 1

    def _ask(
        self, question: Question, tenant: str, stoppers: list[Callable[[], None]], done: Future[bytes]
    ) -> None:
        try:
            store = self._reader_of(tenant) if tenant else self._warehouse.connect()
            try:
                stoppers.append(store.stopper())
                statement, parameters = with_rows(store, question)
                store.keep(question.settings)
                answer = store.query(statement.sql, parameters, None, question.output_format)
            finally:
                stoppers.clear()
                store.close()
        except Exception as error:  # noqa: BLE001 - whoever waits raises it
            done.set_exception(error)
        else:
            done.set_result(answer)
