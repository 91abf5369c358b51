"""The SQL port, asked over real sockets: with urllib as curl would, with clickhouse-connect, with our own client."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import clickhouse_connect
import pytest
from answer.conftest import LIMITS, Port, started
from clickhouse_connect.driver.exceptions import DatabaseError

from retrospan.ingest.answer.admin import Admin
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.http.site import Site
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.queries import connect
from retrospan.schemas.errors import CollectorUnreachable, ConfigError, PortInUse, SqlError


def test_curl_asks_by_url_and_by_body(port: Port) -> None:
    assert port.ask("/ping")[:2] == (200, b"Ok.\n")
    assert port.ask("/")[:2] == (200, b"Ok.\n")
    status, body, headers = port.sql("SELECT a, s FROM answer_all ORDER BY a LIMIT 2")
    assert (status, body) == (200, b"0\ts0\n1\ts1\n")
    assert headers["X-ClickHouse-Format"] == "TabSeparated"
    assert headers["X-ClickHouse-Timezone"] == "UTC"
    assert headers["X-ClickHouse-Query-Id"]
    assert "Access-Control-Allow-Origin" not in headers
    assert port.ask("/", b"SELECT 1, 2 FORMAT CSV")[1] == b"1,2\n"
    assert port.ask("/?query=SELECT+1%2C", b"2")[1] == b"1\t2\n"
    assert port.ask("/?query=SELECT+1", b"", method="HEAD")[:2] == (200, b"")


@pytest.mark.parametrize(
    ("options", "header", "shown"),
    [
        ({"default_format": "JSONEachRow"}, {}, "JSONEachRow"),
        ({}, {"X_ClickHouse_Format": "CSV"}, "CSV"),
        ({"default_format": "CSV", "clause": " FORMAT Parquet"}, {}, "Parquet"),
    ],
)
def test_the_format_is_the_clause_then_the_url_then_the_header(
    port: Port, options: dict[str, str], header: dict[str, str], shown: str
) -> None:
    query = "SELECT 1 AS x" + options.pop("clause", "")
    _, body, headers = port.ask("/?" + urlencode({"query": query, **options}), None, None, **header)
    assert headers["X-ClickHouse-Format"] == shown
    assert {"JSONEachRow": b'{"x":1}', "CSV": b"1\n", "Parquet": b"PAR1"}[shown] in body


def test_parameters_are_bound_as_clickhouse_reads_them(port: Port) -> None:
    query = "SELECT {x:String} AS x, {y:Array(String)} AS y FORMAT JSONEachRow"
    _, body, _ = port.sql(query, param_x="a\\tb'; DROP TABLE answer_sample --", param_y="['it\\'s','c\\\\d']")
    assert json.loads(body) == {"x": "a\tb'; DROP TABLE answer_sample --", "y": ["it's", "c\\d"]}


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "status", "code", "said"),
    [
        ("SELECT file('/etc/passwd')", 403, "497", b"file() is refused"),
        ("INSERT INTO answer_sample VALUES (1)", 403, "164", b"8123 is read-only: INSERT is refused"),
        ("SELECT 1; SELECT 2", 400, "62", b"one statement"),
        ("SELEC 1", 400, "62", b"Maybe you meant SELECT"),
        ("SELECT nope FROM answer_all", 404, "47", b"nope"),
        ("SELECT * FROM nowhere", 404, "60", b"nowhere"),
        ("SELECT throwIf(1)", 500, "395", b"throwIf"),
        ("SELECT * FROM answer_above(least = 1, but = '', more = 2)", 400, "456", b"no parameter more"),
        (
            "SELECT count() FROM numbers(1e13) SETTINGS max_execution_time = 1",
            408,
            "159",
            b"Ask for less: of one run",
        ),
        (
            "SELECT count() FROM numbers(1e13) SETTINGS max_execution_time = 1",
            408,
            "159",
            b" (TIMEOUT_EXCEEDED)\n",
        ),
        (
            "SELECT groupArray(number) FROM numbers(1e9)",
            500,
            "241",
            b"or for fewer columns. (MEMORY_LIMIT_EXCEEDED)\n",
        ),
    ],
)
def test_errors_come_as_clickhouse_sends_them(
    sample: EmbeddedWarehouse, query: str, status: int, code: str, said: bytes
) -> None:
    served = started(sample, replace(LIMITS, query_memory_bytes=100_000_000))
    port = Port(served.start())
    try:
        answered, body, headers = port.sql(query)
        assert (answered, headers["X-ClickHouse-Exception-Code"]) == (status, code)
        assert body.startswith(f"Code: {code}. DB::Exception: ".encode())
        assert said in body
        assert port.sql("SELECT 1")[1] == b"1\n"
    finally:
        served.stop(5.0)


def test_no_request_lifts_a_limit(port: Port) -> None:
    query = "SELECT getSetting('max_execution_time'), getSetting('max_threads'), getSetting('readonly')"
    assert (
        port.sql(query, max_execution_time="0", max_threads="64", readonly="0", no_such="1")[1]
        == b"60\t2\t1\n"
    )
    assert port.sql(query, max_execution_time="1", max_threads="1")[1] == b"1\t1\t1\n"
    assert port.sql(query + " SETTINGS max_execution_time = 3600, max_threads = 1")[1] == b"60\t1\t1\n"
    assert port.sql("SELECT getSetting('max_memory_usage')")[1] == f"{LIMITS.query_memory_bytes}\n".encode()


def test_only_this_machines_names_are_answered(port: Port) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "[::2]"):
        assert port.ask("/?query=SELECT+1", Host=host)[0] == 403, host
    for host in (f"localhost:{port.number}", "127.0.0.1", "127.8.8.8:1", "[::1]:80", "LOCALHOST"):
        assert port.ask("/?query=SELECT+1", Host=host)[0] == 200, host
    assert port.ask("/?query=SELECT+1", Origin="http://evil.example")[0] == 403
    assert port.ask("/admin/v1/rebuild", b"", Origin="null")[0] == 403
    assert port.ask("/?query=SELECT+1", Sec_Fetch_Site="cross-site")[0] == 403
    assert port.ask("/?query=SELECT+1", Origin=port.url)[0] == 200


def test_too_many_queries_at_once_are_told_so(sample: EmbeddedWarehouse) -> None:
    served = started(sample, replace(LIMITS, queries=1, query_seconds=4.0))
    port = Port(served.start())
    answers: list[int] = []
    slow = threading.Thread(target=lambda: answers.append(port.sql("SELECT count() FROM numbers(1e13)")[0]))
    slow.start()
    try:
        deadline = time.monotonic() + 300
        seen: tuple[int, bytes, Any] = (200, b"", {})
        while seen[0] != 503 and time.monotonic() < deadline:
            seen = port.sql("SELECT 1")
        assert seen[0] == 503
        assert b"1 queries are running already" in seen[1]
        assert seen[2]["Retry-After"] == "1"
        slow.join()
        assert answers == [408]
        assert port.sql("SELECT 1")[0] == 200
        assert served.counters.turned_away > 0
        assert served.counters.timed_out == 1
    finally:
        slow.join()
        served.stop(5.0)


def test_clickhouse_connect_works_unchanged(port: Port) -> None:
    client = clickhouse_connect.get_client(host="127.0.0.1", port=port.number)
    try:
        assert client.query("SELECT a, s FROM answer_all ORDER BY a LIMIT 1").result_rows == [(0, "s0")]
        frame = client.query_df("SELECT a, s, at, m FROM answer_sample ORDER BY a")
        assert list(frame["s"]) == [f"s{n}" for n in range(10)]
        arrow = client.query_arrow("SELECT a, s FROM answer_all ORDER BY a")
        assert (arrow.num_rows, arrow.column_names) == (10, ["a", "s"])
        values = {"x": "it's\ta \\ line\n", "y": ["a'b", "c\\d\te"], "z": datetime(2026, 1, 2)}
        asked = client.query("SELECT {x:String}, {y:Array(String)}, {z:DateTime}", parameters=values)
        assert asked.result_rows == [(values["x"], values["y"], values["z"])]
        above = "SELECT a FROM answer_above(least = {least:UInt32}, but = {but:String}) ORDER BY a"
        assert client.query(above, parameters={"least": 6, "but": "s8"}).result_rows == [(7,), (9,)]
        assert "answer_all" in str(client.command("SHOW TABLES"))
        assert client.query_df("SELECT number FROM numbers(200000)").shape == (200000, 1)
    finally:
        client.close()


def test_what_clickhouse_connect_would_write_is_refused_and_reading_goes_on(port: Port) -> None:
    client = clickhouse_connect.get_client(host="127.0.0.1", port=port.number)
    attempts: list[tuple[Callable[[], object], str]] = [
        (lambda: client.insert("answer_sample", [[1, "x"]], column_names=["a", "s"]), "INSERT is refused"),
        (lambda: client.command("DROP TABLE answer_sample"), "DROP is refused"),
        (lambda: client.command("SELECT 1; DROP TABLE answer_sample"), "one statement"),
        (lambda: client.query("SELECT * FROM file('/etc/passwd')"), "is refused"),
        (lambda: client.query("SELECT * FROM url('http://127.0.0.1', CSV)"), "url() is refused"),
    ]
    try:
        for attempt, said in attempts:
            with pytest.raises(DatabaseError) as refused:
                attempt()
            assert said in str(refused.value)
            assert client.query("SELECT count() FROM answer_sample").result_rows == [(10,)]
    finally:
        client.close()


def test_grafanas_first_question_is_answered_in_its_own_revision(port: Port) -> None:
    hello = b"SELECT displayName(), version(), revision(), timezone()"
    _, body, headers = port.ask("/?default_format=Native&client_protocol_version=54460", hello)
    assert headers["X-ClickHouse-Format"] == "Native"
    assert body.startswith(
        b"\x01\x00\x02\xff\xff\xff\xff\x00\x04\x01\x0ddisplayName()\x06String\x00\x09retrospan"
    )
    assert body.endswith(b"\x0atimezone()\x06String\x00\x03UTC")
    # Without the revision it is a question like any other.
    assert port.ask("/", hello + b" FORMAT TSV")[1].count(b"\t") == 3


def test_our_own_client_reads_frames(port: Port) -> None:
    warehouse = connect(port.url)
    frame = warehouse.sql("SELECT * FROM answer_sample WHERE a < {most:UInt32} ORDER BY a", most=2)
    assert frame["s"].to_list() == ["s0", "s1"]
    assert frame["at"].to_list()[0] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert warehouse.sql("SELECT a, s FROM answer_all WHERE 0").shape == (0, 2)
    odd = "it's\ta \\ line\n"
    told = warehouse.sql(
        "SELECT {x:String} AS x, {y:Array(String)} AS y, {z:Bool} AS z", x=odd, y=[odd, ""], z=True
    )
    assert told.to_dicts() == [{"x": odd, "y": [odd, ""], "z": True}]
    assert list(connect(port.url, pandas=True).sql("SELECT a FROM answer_all ORDER BY a LIMIT 2")["a"]) == [
        0,
        1,
    ]


def test_text_that_is_not_utf8_does_not_spoil_a_frame(port: Port) -> None:
    query = "SELECT unhex('ff61') AS a, map('k', unhex('fe')) AS m, [unhex('fd')] AS l, 5 AS n, NULL AS z"
    frame = connect(port.url).sql(query)
    assert frame.to_dicts() == [{"a": "\ufffda", "m": {"k": "\ufffd"}, "l": ["\ufffd"], "n": 5, "z": None}]


def test_our_own_client_says_what_is_wrong(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SqlError, match="Maybe you meant SELECT") as refused:
        connect(port.url).sql("SELEC 1")
    assert refused.value.code == 62
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("RETROSPAN_URL", f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(CollectorUnreachable, match=r"from RETROSPAN_URL.*retrospan serve"):
            connect().runs()
    with pytest.raises(ConfigError, match="is not a URL"):
        connect("ftp://here")


def test_commands_report_as_json_lines(port: Port) -> None:
    status, body, headers = port.ask("/admin/v1/rebuild", b'{"count": 7}')
    assert (status, headers["Content-Type"]) == (200, "application/x-ndjson")
    assert [json.loads(line) for line in body.splitlines()] == [
        {"phase": "loading", "done": 1, "total": 2},
        {"phase": "loading", "done": 7, "total": 2},
        {"done": True},
    ]
    assert json.loads(port.ask("/admin/v1/broken", b"")[1].splitlines()[-1]) == {"error": "it cannot be"}
    assert port.ask("/admin/v1/rebuilt", b"")[:2] == (404, b"no command rebuilt. Known: broken, rebuild.\n")
    assert port.ask("/admin/v1/rebuild")[0] == 405
    assert port.ask("/admin/v1/rebuild", b"[1]")[0] == 400


def test_other_pages(port: Port) -> None:
    assert port.ask("/health")[:2] == (200, b'{\n  "status": "ok"\n}\n')
    assert port.ask("/metrics")[:2] == (200, b"retrospan_up 1\n")
    assert b"goes to port 4318" in port.ask("/v1/traces", b"x")[1]
    assert port.ask("/nothing")[0] == 404
    assert port.ask("/", b"x", method="PUT")[0] == 405
    assert port.sql("SELECT 1", database="secrets")[0] == 404
    assert port.sql("SELECT 1", database="default")[0] == 200


def test_a_query_text_has_a_limit_and_the_client_hears_it(port: Port) -> None:
    long = b"SELECT '" + b"x" * 3_000_000 + b"'"
    status, body, headers = port.ask("/", long)
    assert (status, headers["X-ClickHouse-Exception-Code"]) == (413, "229")
    assert b"65,536 bytes" in body
    assert b"is not closed" in port.ask("/", b"SELECT '\xff\n'")[1]
    assert b"not UTF-8" in port.ask("/", b"SELECT '\xff'")[1]
    assert b"INSERT is refused" in port.ask("/", b"INSERT INTO answer_sample FORMAT Native\n\xff\x00")[1]


def test_odd_requests_do_not_harm(port: Port) -> None:
    for raw in (
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port.number), timeout=60) as connection:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
    chunked = http.client.HTTPConnection("127.0.0.1", port.number, timeout=60)
    try:
        for _ in range(2):  # the connection stays usable
            chunked.request(
                "POST",
                "/",
                iter([b"SELECT ", b"1"]),
                encode_chunked=True,
                headers={"Transfer-Encoding": "chunked"},
            )
            assert chunked.getresponse().read() == b"1\n"
    finally:
        chunked.close()


def test_a_taken_port_is_refused(sample: EmbeddedWarehouse, port: Port) -> None:
    second = SqlPort(
        sample,
        Site(Address("127.0.0.1", port.number)),
        limits=LIMITS,
        admin=Admin({}),
        health=dict[str, object],
        metrics=str,
    )
    with pytest.raises(PortInUse, match=f"127.0.0.1:{port.number} is in use.*--sql 127.0.0.1:0"):
        second.start()


def test_stop_lets_running_queries_end_and_leaves_no_thread(sample: EmbeddedWarehouse) -> None:
    before = set(threading.enumerate())
    served = started(sample, replace(LIMITS, query_seconds=4.0))
    port = Port(served.start())
    idle = http.client.HTTPConnection("127.0.0.1", port.number, timeout=60)
    idle.request("GET", "/ping")
    assert idle.getresponse().read() == b"Ok.\n"
    answers: list[int] = []
    running = threading.Thread(
        target=lambda: answers.append(port.sql("SELECT count() FROM numbers(1e13)")[0])
    )
    running.start()
    watching = sample.connect()
    deadline = time.monotonic() + 300
    while not watching.rows(
        "SELECT 1 FROM system.processes WHERE query LIKE 'SELECT count() FROM numbers(1e13)%'"
    ):
        assert time.monotonic() < deadline
    watching.close()
    served.stop(10.0)
    running.join()
    idle.close()
    assert answers == [408]  # its own limit of time ended it, not the stop
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(threading.enumerate()) - before == set()


def test_probes_hear_whether_it_lives_and_whether_what_is_sent_is_kept(
    sample: EmbeddedWarehouse,
) -> None:
    ready = [True]
    served = SqlPort(
        sample,
        Site(Address("127.0.0.1", 0)),
        limits=LIMITS,
        admin=Admin({}),
        health=lambda: {"status": "failing"},
        metrics=str,
        ready=lambda: ready[0],
    )
    port = Port(served.start())
    try:
        assert port.ask("/health")[0] == 503
        assert [port.ask(f"/health/{page}")[:2] for page in ("live", "ready")] == [
            (200, b"live\n"),
            (200, b"ready\n"),
        ]
        ready[0] = False
        assert port.ask("/health/live")[0] == 200
        assert port.ask("/health/ready")[:2] == (503, b"not ready: /health says why\n")
    finally:
        served.stop(5.0)
