"""Requests to 4318 and 8123 that may be read in two ways, come from a page of somebody else, or are odd: a real
collector, raw sockets."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from fix_collector import Served

NAMES = ("http", "sql")
FORMATS = (
    "DataFrame",
    "dataframe",
    "ArrowTable",
    "DataStore",
    "Protobuf",
    "Template",
    "CapnProto",
    "MySQLWire",
    "x y",
)


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("ports")
    running = Served(folder / "data", folder / "stderr.txt", "--host-names", "named.example,*.cluster.local")
    yield running
    running.kill()


def port_of(collector: Served, name: str) -> int:
    return int(getattr(collector, name).rpartition(":")[2])


def path_of(name: str) -> str:
    return {"http": "/v1/traces", "sql": "/"}[name]


def said(port: int, *sent: bytes, end: bool = False) -> bytes:
    """Everything that a port says to these bytes until it closes the connection."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        try:
            for part in sent:
                connection.sendall(part)
            if end:
                with contextlib.suppress(OSError):  # the other end has closed already; what it said is there
                    connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                found += part
        except ConnectionError:
            pass
    return found


def asked(
    port: int, path: str, headers: Mapping[str, str], *, method: str = "GET", body: bytes | None = None
) -> tuple[int, Mapping[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def head(name: str, *lines: str, first: str = "") -> bytes:
    kind = "Content-Type: application/json"
    start = first or f"POST {path_of(name)} HTTP/1.1"
    return "\r\n".join([start, "Host: localhost", kind, *lines, "", ""]).encode("latin-1")


CHUNKED, HIDDEN = "Transfer-Encoding: chunked", b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n"
SMUGGLED = {
    "length and coding": (["Content-Length: 4", CHUNKED], b"0\r\n\r\n"),
    "coding and length": ([CHUNKED, "Content-Length: 4"], b"0\r\n\r\n"),
    "two lengths": (["Content-Length: 0", "Content-Length: 39"], b""),
    "the same length twice": (["Content-Length: 0", "Content-Length: 0"], b""),
    "a list of lengths": (["Content-Length: 0, 0"], b""),
    "a length with a sign": (["Content-Length: +0"], b""),
    "a negative length": (["Content-Length: -1"], b""),
    "a length in hex": (["Content-Length: 0x0"], b""),
    "a length of nothing": (["Content-Length:"], b""),
    "an endless length": (["Content-Length: " + "9" * 30], b""),
    "gzip, chunked": (["Transfer-Encoding: gzip, chunked"], b"0\r\n\r\n"),
    "chunked, identity": (["Transfer-Encoding: chunked, identity"], b"0\r\n\r\n"),
    "chunked twice": ([CHUNKED, CHUNKED], b"0\r\n\r\n"),
    "identity": (["Transfer-Encoding: identity"], b""),
    "xchunked": (["Transfer-Encoding: xchunked"], b"0\r\n\r\n"),
    "a space before the colon": (["Transfer-Encoding : chunked"], b"0\r\n\r\n"),
    "a tab before the colon": (["Content-Length\t: 0"], b""),
    "a folded coding": (["Transfer-Encoding:", " chunked"], b"0\r\n\r\n"),
    "a folded header": (["X: a", "\tContent-Length: 39"], b""),
    "a first line that is folded": ([" X: a"], b""),
    "NUL in a value": (["X: a\0b"], b""),
    "NUL in a name": (["X\0: a"], b""),
    "CR in a value": (["X: a\rContent-Length: 39"], b""),
    "LF in a value": (["X: a\nContent-Length: 39"], b""),
    "no name": ([": a"], b""),
    "no colon": (["Transfer-Encoding"], b""),
    "a name with a quote": (['"Content-Length": 0'], b""),
    "two hosts": (["Host: localhost"], b""),
    "chunk -5": ([CHUNKED], b"-5\r\nabcde\r\n0\r\n\r\n"),
    "chunk +5": ([CHUNKED], b"+5\r\nabcde\r\n0\r\n\r\n"),
    "chunk 0x8": ([CHUNKED], b"0x8\r\nabcdefgh\r\n0\r\n\r\n"),
    "chunk with a space before": ([CHUNKED], b" 5\r\nabcde\r\n0\r\n\r\n"),
    "chunk with an underscore": ([CHUNKED], b"1_0\r\n" + b"a" * 16 + b"\r\n0\r\n\r\n"),
    "chunk of no size": ([CHUNKED], b"\r\nabcde\r\n0\r\n\r\n"),
    "chunk too large to be": ([CHUNKED], b"f" * 17 + b"\r\nabc\r\n"),
    "chunk that ends in LF": ([CHUNKED], b"5\nabcde\r\n0\r\n\r\n"),
    "chunk with a wrong end": ([CHUNKED], b"5\r\nabcdeXX0\r\n\r\n"),
    "chunk that is longer": ([CHUNKED], b"2\r\nabcde\r\n0\r\n\r\n"),
    "a long extension": ([CHUNKED], b"5;" + b"a" * 5000 + b"\r\nabcde\r\n0\r\n\r\n"),
    "an extension that does not end": ([CHUNKED], b"5;" + b"a" * 100_000),
    "LF in an extension": ([CHUNKED], b"5;a\nb\r\nabcde\r\n0\r\n\r\n"),
    "CR in an extension": ([CHUNKED], b"5;a\rb\r\nabcde\r\n0\r\n\r\n"),
    "a length in the trailers": ([CHUNKED], b"0\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"),
    "trailers that end in LF": ([CHUNKED], b"0\r\nX: a\n\n"),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", SMUGGLED)
def test_a_request_whose_end_is_in_doubt_is_refused_and_the_connection_closed(
    collector: Served, name: str, case: str
) -> None:
    lines, body = SMUGGLED[case]
    answer = said(port_of(collector, name), head(name, *lines) + body + HIDDEN)
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 ")), answer[:200]
    assert answer.count(b"HTTP/1.1 ") == 1, "what was hidden behind it is not a request"
    assert b"connection: close" in answer.lower()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "sent",
    [
        b"GET /ping HTTP/1.1\nHost: localhost\n\n",
        b"GET /ping HTTP/1.1\r\nHost: localhost\n\r\n",
        b"GET /ping HTTP/1.1\nHost: localhost\r\n\r\n",
        b"GET /ping HTTP/1.1\r\nHost: localhost\r\nX: y\n\n",
        b"POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /ping\r\nHost: localhost\r\n\r\n",
        b"GET  /ping HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /p\x00ing HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /ping HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 5000 + b"\r\n",
        b"GET /ping HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"GET /" + b"y" * 2_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=range(12),
)
def test_a_head_that_is_none_is_refused(collector: Served, name: str, sent: bytes) -> None:
    answer = said(port_of(collector, name), sent, end=True)
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 ")), answer[:200]
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("name", NAMES)
def test_requests_that_are_well_formed_are_taken_however_they_are_cut(collector: Served, name: str) -> None:
    body = b"SELECT 1" if name == "sql" else b"{}"
    chunks = b"".join(b"%x;part=1\r\n%c\r\n" % (1, byte) for byte in body)
    whole = head(name, CHUNKED) + chunks + b"0\r\nX-Trailer: a\r\n\r\n"
    last = head(name, f"Content-Length: {len(body)}", "Connection: close") + body
    both = said(port_of(collector, name), whole + last)
    assert both.count(b"HTTP/1.1 200 ") == 2, both
    with socket.create_connection(("127.0.0.1", port_of(collector, name)), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(whole)):
            connection.sendall(whole[at : at + 1])
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("name", NAMES)
def test_a_client_that_waits_for_leave_gets_it(collector: Served, name: str) -> None:
    body = b"SELECT 1" if name == "sql" else b"{}"
    with socket.create_connection(("127.0.0.1", port_of(collector, name)), timeout=60) as connection:
        connection.sendall(head(name, f"Content-Length: {len(body)}", "Expect: 100-continue"))
        assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("name", NAMES)
def test_a_client_that_is_done_writing_is_answered(collector: Served, name: str) -> None:
    body = b"SELECT 1" if name == "sql" else b"{}"
    answer = said(port_of(collector, name), head(name, f"Content-Length: {len(body)}") + body, end=True)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"1\n" if name == "sql" else b"{}")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_ten_thousand_requests_go_over_one_connection(collector: Served, name: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port_of(collector, name), timeout=60)
    try:
        for number in range(10_000):
            if number % 1000 == 0:
                body = b"SELECT 1" if name == "sql" else b"{}"
                connection.request("POST", path_of(name), body, {"Content-Type": "application/json"})
            else:
                connection.request("GET", "/health/live")
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
    finally:
        connection.close()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.example.com"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "localhost.evil.example"}, 403),
        ({"Host": "evil.example:4318"}, 403),
        ({"Host": "localhost@evil.example"}, 403),
        ({"Host": "evil.example@localhost"}, 403),
        ({"Host": "localhost/evil"}, 403),
        ({"Host": "localhost:x"}, 403),
        ({"Host": "10.0.0.1"}, 403),
        ({"Host": "[::2]"}, 403),
        ({"Host": "cluster.local"}, 403),
        ({"Host": "named.example.evil"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "localhost"}, 200),
        ({"Host": "LOCALHOST:1"}, 200),
        ({"Host": "127.8.8.8:99"}, 200),
        ({"Host": "[::1]:4318"}, 200),
        ({"Host": "named.example"}, 200),
        ({"Host": "Named.Example:4318"}, 200),
        ({"Host": "retrospan.default.svc.cluster.local"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "Cross-Site"}, 403),
        ({"Sec-Fetch-Site": "something"}, 403),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 200),
    ],
)
def test_only_this_collectors_clients_are_answered(
    collector: Served, name: str, headers: dict[str, str], status: int
) -> None:
    port = port_of(collector, name)
    assert asked(port, "/health/live", headers)[0] == status
    body = b"SELECT 1" if name == "sql" else b"{}"
    sent = {"Content-Type": "application/json", **headers}
    answered, _, page = asked(port, path_of(name), sent, method="POST", body=body)
    assert answered == status
    if status == 403:
        assert b"host_names" in page or b"origins" in page, "the setting is named"


@pytest.mark.parametrize("name", NAMES)
def test_a_target_that_names_a_host_is_asked_for_that(collector: Served, name: str) -> None:
    port = port_of(collector, name)
    for target, status in (
        ("http://evil.example/health/live", b"403"),
        ("http://localhost/health/live", b"200"),
    ):
        answer = said(port, f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 " + status)


def test_a_page_that_rebinds_a_name_writes_no_run(collector: Served) -> None:
    before = collector.health()["requests"]
    body = json.dumps({"resourceSpans": []}).encode()
    for headers in ({"Host": "rebound.example:4318"}, {"Origin": "https://evil.example"}):
        sent = {"Content-Type": "application/json", **headers}
        status, _, page = asked(port_of(collector, "http"), "/v1/traces", sent, method="POST", body=body)
        assert status == 403
        assert json.loads(page)["code"] == 7, "PERMISSION_DENIED, which no exporter repeats"
    assert collector.health()["requests"] == before + 2, "they are counted"
    assert collector.health()["durable_sequence"] == 0


def test_no_page_gets_grpcs_port_to_work(collector: Served) -> None:
    """A browser cannot begin HTTP/2 without TLS, and the port speaks nothing else."""
    port = port_of(collector, "grpc")
    path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    for kind in ("text/plain", "application/grpc", "application/json"):
        first = f"POST {path} HTTP/1.1"
        answer = said(
            port, head("http", f"Content-Type: {kind}", "Content-Length: 5", first=first) + bytes(5)
        )
        assert b"200" not in answer[:20]
    assert collector.health()["durable_sequence"] == 0


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_that_is_not_of_clickhouses_output_is_refused_by_name(collector: Served, name: str) -> None:
    port = port_of(collector, "sql")
    query = f"/?default_format={name.replace(' ', '%20')}&query=SELECT%201"
    for path, headers in ((query, {}), ("/?query=SELECT%201", {"X-ClickHouse-Format": name})):
        status, found, page = asked(port, path, headers)
        assert (status, found["x-clickhouse-exception-code"]) == (404, "73")
        assert repr(name).encode() in page
    if " " not in name:
        assert asked(port, f"/?query=SELECT%201%20FORMAT%20{name}", {})[0] == 404


@pytest.fixture
def listed(tmp_path: Path) -> Iterator[Served]:
    settings = tmp_path / "settings.toml"
    settings.write_text('origins = ["https://app.example", "http://localhost:3000"]\n')
    running = Served(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(settings))
    yield running
    running.kill()


def test_a_listed_page_may_send_and_ask(listed: Served) -> None:
    for name in NAMES:
        port = port_of(listed, name)
        preflight = {
            "Origin": "https://app.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type,authorization",
            "Sec-Fetch-Site": "cross-site",
        }
        status, found, _ = asked(port, path_of(name), preflight, method="OPTIONS")
        assert status == 204
        assert found["access-control-allow-origin"] == "https://app.example"
        assert "POST" in found["access-control-allow-methods"]
        assert found["access-control-allow-headers"] == "content-type,authorization"
        sent = {
            "Origin": "https://app.example",
            "Sec-Fetch-Site": "cross-site",
            "Content-Type": "application/json",
        }
        body = b"SELECT 1" if name == "sql" else b"{}"
        status, found, _ = asked(port, path_of(name), sent, method="POST", body=body)
        assert (status, found["access-control-allow-origin"]) == (200, "https://app.example")
        assert found["vary"] == "Origin"
        for origin in ("https://app.example.evil", "http://app.example", "https://app.example:444", "null"):
            status, found, _ = asked(port, path_of(name), {**preflight, "Origin": origin}, method="OPTIONS")
            assert status == 403 and "access-control-allow-origin" not in found
        rebound = {**sent, "Host": "evil.example"}
        assert asked(port, path_of(name), rebound, method="POST", body=body)[0] == 403
        odd = {**preflight, "Access-Control-Request-Headers": "x\x7fy<script>"}
        status, found, _ = asked(port, path_of(name), odd, method="OPTIONS")
        assert status == 204 and "access-control-allow-headers" not in found


@pytest.mark.parametrize("flags", [["--host-names", "http://a"], ["--host-names", "a:1"]])
def test_names_that_are_none_are_refused_at_the_start(tmp_path: Path, flags: list[str]) -> None:
    with pytest.raises(AssertionError, match=r"is not a name such as collector\.example"):
        Served(tmp_path / "data", tmp_path / "stderr.txt", *flags)


@pytest.mark.parametrize("name", NAMES)
def test_a_client_of_the_native_protocol_hears_an_error_that_it_can_show(
    collector: Served, name: str
) -> None:
    hello = b"\x00\x11ClickHouse client\x1a\x09\xd8\xa9\x03\x09retrospan\x07default\x00"
    packet = said(port_of(collector, name), hello)
    # The number of an exception, its code, and its name; then what is shown.
    assert packet.startswith(b"\x02\x65\x00\x00\x00\x0dDB::Exception"), packet
    assert b"this port speaks HTTP" in packet and b"HTTP/1.1" not in packet
    assert asked(port_of(collector, name), "/health/live", {})[0] == 200
