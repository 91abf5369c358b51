"""KILL QUERY over the real port: of one's own query, of none, of somebody else's."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from answer.conftest import LIMITS, Port, started

from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

ENDLESS = "SELECT count() FROM numbers(1e13)"


class Asked:
    """An endless query, asked in a thread."""

    def __init__(self, port: Port, query_id: str, **headers: str) -> None:
        self.answer: tuple[int, bytes, Any] | None = None
        path = f"/?query_id={query_id}"
        self._thread = threading.Thread(target=lambda: self._ask(port, path, headers))
        self._thread.start()

    def _ask(self, port: Port, path: str, headers: dict[str, str]) -> None:
        self.answer = port.ask(path, ENDLESS.encode(), None, **headers)

    def ended(self) -> tuple[int, bytes, Any]:
        self._thread.join(30)
        assert self.answer is not None
        return self.answer


@pytest.fixture
def port(sample: EmbeddedWarehouse) -> Iterator[Port]:
    served = started(sample, replace(LIMITS, query_seconds=60.0))
    yield Port(served.start())
    served.stop(5.0)


def kill(port: Port, query_id: str, more: str = "", **headers: str) -> tuple[int, bytes, Any]:
    return port.ask("/", f"KILL QUERY WHERE query_id = '{query_id}' {more}".encode(), None, **headers)


def until_known(port: Port, query_id: str, **headers: str) -> None:
    deadline = time.monotonic() + 120
    while not kill(port, query_id, "TEST", **headers)[1] and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.mark.parametrize(
    "more", ["", "ASYNC", "sync ;", "FORMAT JSONEachRow", "-- mine\n SYNC /* all of it */"]
)
def test_ones_own_query_is_stopped_by_its_id(port: Port, more: str) -> None:
    endless = Asked(port, "mine")
    until_known(port, "mine")
    assert endless.answer is None, "a test stops nothing"
    status, body, headers = kill(port, "mine", more)
    assert (status, b"waiting" in body, ENDLESS.encode() in body) == (200, True, True)
    if more.startswith("FORMAT"):
        assert json.loads(body)["query_id"] == "mine" and headers["X-ClickHouse-Format"] == "JSONEachRow"
    assert endless.ended()[2]["X-ClickHouse-Exception-Code"] == "394"
    deadline = time.monotonic() + 120
    while kill(port, "mine")[1] and time.monotonic() < deadline:
        time.sleep(0.02)
    assert kill(port, "mine")[:2] == (200, b""), "it is no more"


def test_on_a_full_port_too_and_no_other_query_is_stopped(port: Port) -> None:
    mine, other = Asked(port, "mine"), Asked(port, "other")
    deadline = time.monotonic() + 120
    while port.ask("/", b"SELECT 1")[0] != 503 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert b"waiting" in kill(port, "mine")[1]
    assert mine.ended()[2]["X-ClickHouse-Exception-Code"] == "394"
    assert other.answer is None
    kill(port, "other")
    assert other.ended()[2]["X-ClickHouse-Exception-Code"] == "394"


def test_of_a_long_statement_the_beginning_is_told(port: Port) -> None:
    asked = f"{ENDLESS} WHERE {' AND '.join(['number >= 0'] * 4000)}"
    thread = threading.Thread(target=lambda: port.ask("/?query_id=long", asked.encode()))
    thread.start()
    until_known(port, "long")
    status, body, _ = kill(port, "long")
    assert (status, ENDLESS.encode() in body) == (200, True), body[:300]
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    "statement",
    [
        "KILL QUERY WHERE 1",
        "KILL QUERY WHERE user = 'default'",
        "KILL QUERY WHERE query_id = 'a' OR 1",
        "KILL QUERY WHERE query_id = 'a\\' OR 1 --'",
        "KILL QUERY WHERE query_id = 'a' -- '\n OR 1",
        "/* mine */ KILL QUERY WHERE 1",
        f"/* {'x' * 1000} */ KILL QUERY WHERE query_id = 'a'",
        "KILL MUTATION WHERE 1",
        "KILL QUERY WHERE query_id = 'a'; DROP TABLE answer_sample",
        "KILL QUERY WHERE query_id = 'a' FORMAT JSON SETTINGS readonly = 0",
    ],
)
def test_any_other_kill_is_refused(port: Port, statement: str) -> None:
    status, body, _ = port.ask("/", statement.encode())
    assert status in (400, 403), body
    assert port.ask("/", b"SELECT count() FROM answer_sample")[0] == 200


def test_what_a_query_says_is_only_text_in_the_answer(port: Port) -> None:
    query_id = "it'); SELECT 1 --"
    assert kill(port, query_id)[0] in (400, 403)
    assert kill(port, "a' UNION ALL SELECT 'x")[0] in (400, 403)
