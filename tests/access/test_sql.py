"""Tokens at the SQL port: rights, ClickHouse's ways to send a password, ClickHouse's errors, names of the host."""

from __future__ import annotations

import base64
import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import clickhouse_connect
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.tenancy import Tenancy
from retrospan.ingest.access.tokens import TokenFile
from retrospan.ingest.answer.admin import Admin
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.cli.client.collector_client import CollectorClient
from retrospan.ingest.http.site import Site
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.queries import connect
from retrospan.schemas.errors import ConfigError, PermanentError, SqlError

from .conftest import NOW, STANDARD, entry

HEALTH = {"status": "degraded", "reasons": ["a secret reason"]}


@pytest.fixture
def port(warehouse: EmbeddedWarehouse, tmp_path: Path) -> Iterator[int]:
    file = tmp_path / "tokens.toml"
    file.write_text(STANDARD, encoding="utf-8")
    tenancy = Tenancy()
    tenancy.claim("default")
    sql = SqlPort(
        warehouse,
        Site(Address("127.0.0.1", 0)),
        limits=Limits(),
        admin=Admin({"rebuild": lambda arguments, report: report({"rebuilt": 1})}),
        health=lambda: HEALTH,
        metrics=lambda: "retrospan_up 1\n",
        gate=Gate(TokenFile(file, print), tenancy, now=lambda: NOW),
    )
    yield sql.start()
    sql.stop(5)


def ask(
    port: int, path: str, body: bytes | None = None, /, **headers: str
) -> tuple[int, str, Mapping[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET" if body is None else "POST", path, body, named)
        answer = connection.getresponse()
        return (
            answer.status,
            answer.read().decode(),
            {key.lower(): value for key, value in answer.getheaders()},
        )
    finally:
        connection.close()


def basic(token: str) -> str:
    return "Basic " + base64.b64encode(f"anybody:{token}".encode()).decode()


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer Reader-1"},
        {"authorization": basic("Reader-1")},
        {"X_ClickHouse_User": "anybody", "X_ClickHouse_Key": "Reader-1"},
    ],
)
def test_a_reader_asks_in_every_way_clickhouse_knows(port: int, headers: dict[str, str]) -> None:
    assert ask(port, "/?query=SELECT%201", **headers)[:2] == (200, "1\n")
    assert ask(port, "/metrics", **headers)[:2] == (200, "retrospan_up 1\n")
    assert json.loads(ask(port, "/health", **headers)[1]) == HEALTH


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 401, 194),
        ({"X_ClickHouse_User": "default"}, 401, 194),
        ({"authorization": "Bearer nobodys"}, 401, 516),
        ({"authorization": basic("nobodys")}, 401, 516),
        ({"X_ClickHouse_Key": "reader-1"}, 401, 516),
        ({"authorization": "Bearer Old-1"}, 401, 516),
        ({"authorization": "Bearer Writer-1"}, 403, 497),
        ({"authorization": "Bearer Admin-1"}, 403, 497),
        ({"authorization": "Bearer Other-1"}, 403, 497),
    ],
)
@pytest.mark.requirement("R35")
def test_who_may_not_ask_is_refused_in_clickhouses_form(
    port: int, headers: dict[str, str], status: int, code: int
) -> None:
    for path in ("/?query=SELECT%201", "/metrics", "/query?query=nonsense", "/"):
        answered, body, found = ask(port, path, **headers)
        assert (answered, found["x-clickhouse-exception-code"]) == (status, str(code)), path
        assert body.startswith(f"Code: {code}. DB::Exception: ")
        assert found.get("www-authenticate") == ('Bearer realm="retrospan"' if status == 401 else None)
        for value in headers.values():
            assert value.partition(" ")[2] not in body or " " not in value
    assert ask(port, "/ping", **headers)[:2] == (200, "Ok.\n")
    answered, body, _ = ask(port, "/health", **headers)
    assert (answered, json.loads(body)) == (200, {"status": "degraded"})


@pytest.mark.requirement("R35")
def test_another_tenant_hears_why_in_one_sentence_after_another(port: int) -> None:
    status, said, _ = ask(port, "/?query=SELECT%201", authorization="Bearer Other-1")
    assert status == 403
    assert "not 'other'. " in said and said.endswith(". (ACCESS_DENIED)\n") and ".." not in said, said


def test_a_token_in_the_address_is_refused(port: int) -> None:
    status, body, _ = ask(port, "/?query=SELECT%201&user=default&password=Reader-1")
    assert status == 401 and "a token in the address is refused" in body and "Reader-1" not in body
    assert ask(port, "/?query=SELECT%201&token=Reader-1")[0] == 401


def test_commands_need_the_right_admin(port: int) -> None:
    for token, status in (("Reader-1", 403), ("Writer-1", 403), ("nobodys", 401), ("Admin-1", 200)):
        answered, body, _ = ask(port, "/admin/v1/rebuild", b"", authorization=f"Bearer {token}")
        assert answered == status
        assert ("rebuilt" in body) == (status == 200)


def test_clickhouse_connect_takes_the_token_as_its_password(port: int) -> None:
    client = clickhouse_connect.get_client(
        host="127.0.0.1", port=port, password="Reader-1", database="retrospan"
    )
    assert client.query("SELECT 1 + 1").result_rows == [(2,)]
    client.close()
    with pytest.raises(DatabaseError, match="516"):
        clickhouse_connect.get_client(host="127.0.0.1", port=port, password="nobodys", database="retrospan")


def test_our_own_clients_send_the_token(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("RETROSPAN_TOKEN", "Reader-1")
    assert connect(url).sql("SELECT 1 AS a")["a"].to_list() == [1]
    assert connect(url, token="Reader-1").sql("SELECT 1 AS a")["a"].to_list() == [1]
    with pytest.raises(SqlError, match="not known"):
        connect(url, token="nobodys").sql("SELECT 1")
    environ = {"RETROSPAN_URL": url, "RETROSPAN_TOKEN": "Reader-1"}
    assert CollectorClient.from_environ(environ).ask("SELECT 1 AS a").rows == [{"a": 1}]
    with pytest.raises(PermanentError) as refused:
        CollectorClient.from_environ({"RETROSPAN_URL": url}).ask("SELECT 1")
    assert "RETROSPAN_TOKEN is not set" in str(refused.value) and "a token is needed" in str(refused.value)
    with pytest.raises(PermanentError) as refused:
        list(CollectorClient.from_environ({**environ, "RETROSPAN_TOKEN": "nobodys"}).admin("rebuild"))
    assert "from RETROSPAN_TOKEN" in str(refused.value) and "nobodys" not in str(refused.value)


@pytest.mark.parametrize("token", ["two words", "a\r\nX: y", "é"])
def test_what_cannot_be_a_token_is_not_sent_and_not_shown(token: str) -> None:
    with pytest.raises(ConfigError) as refused:
        connect("http://127.0.0.1:1", token=token)
    assert token not in str(refused.value)
    with pytest.raises(ConfigError, match="RETROSPAN_TOKEN"):
        CollectorClient.from_environ({"RETROSPAN_TOKEN": token})


def test_behind_tokens_any_name_will_do_and_pages_of_others_will_not(port: int) -> None:
    token = {"authorization": "Bearer Reader-1"}
    assert ask(port, "/?query=SELECT%201", Host="collector.example:8123", **token)[0] == 200
    own = {"Host": "collector.example:8123", "Origin": "https://collector.example:8123"}
    assert ask(port, "/?query=SELECT%201", **own, **token)[0] == 200
    assert (
        ask(port, "/?query=SELECT%201", Host="collector.example", Origin="https://evil.example", **token)[0]
        == 403
    )
    assert ask(port, "/?query=SELECT%201", Origin="http://192.0.2.1", **token)[0] == 403


def test_an_open_collector_answers_under_addresses_and_no_foreign_name(
    warehouse: EmbeddedWarehouse,
) -> None:
    sql = SqlPort(
        warehouse,
        Site(Address("0.0.0.0", 0)),
        limits=Limits(),
        admin=Admin({}),
        health=lambda: HEALTH,
        metrics=lambda: "",
    )
    port = sql.start()
    try:
        assert ask(port, "/?query=SELECT%201", Host="192.0.2.7:8123")[0] == 200
        assert ask(port, "/?query=SELECT%201", Host="rebound.example")[0] == 403
        assert ask(port, "/?query=SELECT%201", Host="192.0.2.7", Origin="http://192.0.2.8")[0] == 403
    finally:
        sql.stop(5)


@pytest.fixture
def shared(warehouse: EmbeddedWarehouse, tmp_path: Path) -> Iterator[int]:
    """A port as before a server that keeps two tenants apart."""
    file = tmp_path / "tokens.toml"
    watcher = entry("Watcher-1", name="watcher", rights='"read", "metrics"')
    file.write_text(STANDARD + watcher, encoding="utf-8")
    sql = SqlPort(
        warehouse,
        Site(Address("127.0.0.1", 0)),
        limits=Limits(),
        admin=Admin({}),
        health=lambda: HEALTH,
        metrics=lambda: "retrospan_up 1\n",
        gate=Gate(TokenFile(file, print), Tenancy(shared=True), now=lambda: NOW),
    )
    yield sql.start()
    sql.stop(5)


READER, OTHER, WATCHER = ({"authorization": f"Bearer {name}-1"} for name in ("Reader", "Other", "Watcher"))
#: What counts the rows of all tenants, whoever asks.
OF_ALL = (
    "SELECT sum(rows) FROM system.parts",
    "SELECT value FROM `system` . `events`",
    "WITH (SELECT count() FROM system.metrics) AS m SELECT m",
    "SELECT data_compressed_bytes FROM system.data_skipping_indices",
    "SELECT max(_part_offset), max(_block_number) FROM raw_spans",
    "SELECT count() FROM raw_spans WHERE `_part` = 'all_1_1_0'",
    "SELECT 1 FORMAT JSONEachRowWithProgress",
    "EXPLAIN ESTIMATE SELECT count() FROM retrospan.raw_spans",
    "EXPLAIN indexes = 1 SELECT count() FROM raw_spans",
    "EXPLAIN SELECT count() FROM raw_spans",
)


def test_a_tenant_among_several_sees_no_number_of_all(shared: int) -> None:
    for query in OF_ALL:
        status, said, headers = ask(shared, "/", query.encode(), **READER)
        assert (status, headers["x-clickhouse-exception-code"]) == (403, "497"), (query, said)
        assert "the right metrics" in said
        assert ask(shared, "/", query.encode(), **WATCHER)[0] == 200, query
    by_name = b"SELECT max({c:Identifier}) FROM raw_spans"
    assert ask(shared, "/?param_c=_part_offset", by_name, **READER)[0] == 403
    assert ask(shared, "/?param_c=trace_id", by_name, **READER)[0] == 200
    assert ask(shared, "/?database=system", b"SELECT count() FROM parts", **READER)[0] == 403
    assert ask(shared, "/", b"EXPLAIN SYNTAX SELECT 1", **READER)[0] == 200
    asked = b"SELECT 1 FORMAT JSON SETTINGS output_format_write_statistics = 1"
    assert "statistics" not in json.loads(ask(shared, "/", asked, **READER)[1])
    assert "rows_read" in json.loads(ask(shared, "/", asked, **WATCHER)[1])["statistics"]
    assert ask(shared, "/metrics", **READER)[0] == 403
    assert ask(shared, "/metrics", **WATCHER)[0] == 200
    assert json.loads(ask(shared, "/health", **READER)[1]) == {"status": "degraded"}
    assert json.loads(ask(shared, "/health", **WATCHER)[1]) == HEALTH


def test_the_one_tenant_of_a_port_sees_its_numbers(port: int) -> None:
    for query in OF_ALL:
        assert ask(port, "/", query.encode(), **READER)[0] == 200, query
    assert ask(port, "/metrics", **READER)[0] == 200
    assert json.loads(ask(port, "/health", **READER)[1]) == HEALTH


def test_that_another_tenant_asks_something_is_not_told(shared: int) -> None:
    endless = threading.Thread(
        target=ask, args=(shared, "/?query_id=theirs", b"SELECT count() FROM numbers(1e13)"), kwargs=OTHER
    )
    endless.start()
    kill = b"KILL QUERY WHERE query_id = 'theirs'"
    deadline = time.monotonic() + 120
    while not ask(shared, "/", kill + b" TEST", **OTHER)[1] and time.monotonic() < deadline:
        time.sleep(0.02)
    unknown = ask(shared, "/", b"KILL QUERY WHERE query_id = 'nobodys'", **READER)
    assert ask(shared, "/", kill, **READER)[:2] == unknown[:2] == (200, "")
    assert "waiting" in ask(shared, "/", kill, **OTHER)[1]
    endless.join(30)
    assert not endless.is_alive()


def test_a_query_is_stopped_only_with_the_token_that_asked_it(port: int) -> None:
    answers: list[tuple[int, str, Mapping[str, str]]] = []
    mine, other = {"authorization": "Bearer Reader-1"}, {"authorization": "Bearer Admin-1"}
    endless = threading.Thread(
        target=lambda: answers.append(
            ask(port, "/?query_id=mine", b"SELECT count() FROM numbers(1e13)", **mine)
        )
    )
    endless.start()
    test, kill = b"KILL QUERY WHERE query_id = 'mine' TEST", b"KILL QUERY WHERE query_id = 'mine'"
    deadline = time.monotonic() + 120
    while not ask(port, "/", test, **mine)[1] and time.monotonic() < deadline:
        time.sleep(0.02)
    status, said, headers = ask(port, "/", kill, **other)
    assert (status, headers["x-clickhouse-exception-code"]) == (403, "497"), said
    assert ask(port, "/", kill)[0] == 401
    assert answers == []
    assert "waiting" in ask(port, "/", kill, **mine)[1]
    endless.join(30)
    assert answers[0][2]["x-clickhouse-exception-code"] == "394"
