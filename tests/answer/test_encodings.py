"""Requests and answers in the forms of ClickHouse's clients, over the real port: blocks, encodings, forms; and hostile ones."""

from __future__ import annotations

import gzip
import http.client
import struct
import sys
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import lz4.block
import lz4.frame
import pytest
from answer.conftest import Port, sampled, started
from clickhouse_cityhash.cityhash import CityHash128
from hypothesis import given, settings
from hypothesis import strategies as st

from retrospan.ingest.answer.encodings.blocks import BLOCK_BYTES, compressed_blocks, decompress_blocks
from retrospan.ingest.answer.encodings.form import read_form
from retrospan.ingest.answer.encodings.limited_zstd import zstd_decompress
from retrospan.ingest.answer.failures import _NAMES
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import SqlError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@pytest.fixture(scope="module")
def port(module_warehouse: EmbeddedWarehouse) -> Iterator[Port]:
    """One port for all of these: none of them changes anything."""
    for sample in sampled(module_warehouse):
        served = started(sample)
        yield Port(served.start())
        served.stop(5.0)


MANY = "SELECT number, repeat('x', 100) FROM numbers(40000)"


def block(content: bytes, method: int = 0x82, **lies: int) -> bytes:
    body = content
    if method == 0x82:
        body = lz4.block.compress(content, store_size=False)
    elif method == 0x90:
        body = zstd.compress(content)
    head = struct.pack("<BII", method, lies.get("size", 9 + len(body)), lies.get("holds", len(content)))
    told = int(CityHash128(head + body))
    return bytes(struct.pack("<QQ", told >> 64, told & (1 << 64) - 1) + head + body)


def form(fields: list[tuple[str, str]], boundary: str = "b0undary", end: str = "--") -> tuple[bytes, str]:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields
    ]
    return f"{''.join(parts)}--{boundary}{end}\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def posted(
    port: Port, body: bytes, query: dict[str, Any] | None = None, **headers: str
) -> tuple[int, bytes, http.client.HTTPResponse]:
    wire = http.client.HTTPConnection("127.0.0.1", port.number, timeout=60)
    try:
        wire.request(
            "POST", "/?" + urlencode(query or {}), body, {k.replace("_", "-"): v for k, v in headers.items()}
        )
        reply = wire.getresponse()
        return reply.status, reply.read(), reply
    finally:
        wire.close()


@pytest.mark.parametrize("query", ["SELECT 1", MANY])
def test_an_answer_comes_in_blocks_where_these_are_asked_for(port: Port, query: str) -> None:
    plain = posted(port, query.encode())[1]
    status, body, _ = posted(port, query.encode(), {"compress": 1})
    assert (status, decompress_blocks(body, 1 << 30)) == (200, plain)
    assert query != MANY or len(body) < len(plain) / 5


def test_an_error_comes_in_blocks_too_but_not_that_of_who_may_ask(port: Port) -> None:
    status, body, reply = posted(port, b"SELECT nope", {"compress": 1})
    assert (status, reply.headers["X-ClickHouse-Exception-Code"]) == (404, "47")
    assert b"nope" in decompress_blocks(body, 1 << 20)
    # One that comes after the answer has begun is its last block.
    late = "SELECT throwIf(number = 300000), repeat('x', 50) FROM numbers(10000000) SETTINGS max_block_size = 10000"
    wire = http.client.HTTPConnection("127.0.0.1", port.number, timeout=60)
    wire.request("POST", "/?compress=1", late.encode())
    reply = wire.getresponse()
    with pytest.raises(http.client.IncompleteRead) as cut:
        reply.read()
    wire.close()
    tag = reply.headers["X-ClickHouse-Exception-Tag"].encode()
    assert decompress_blocks(cut.value.partial, 1 << 30).endswith(tag + b"\r\n__exception__\r\n")
    # A client may look for it without decompressing.
    assert b"FUNCTION_THROW_IF_VALUE_IS_NON_ZERO" in cut.value.partial


@pytest.mark.parametrize(
    ("accept", "encoding"),
    [
        ("gzip", "gzip"),
        ("deflate", "deflate"),
        ("lz4", "lz4"),
        ("gzip, zstd", "zstd"),
        ("zstd;q=0, gzip;q=0.5", "gzip"),
        ("br", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("query", ["SELECT 1", MANY, "SELECT nope"])
def test_an_answer_is_encoded_as_accepted_where_that_is_asked_for(
    port: Port, accept: str, encoding: str | None, query: str
) -> None:
    plain = posted(port, query.encode())[1]
    _, body, reply = posted(port, query.encode(), {"enable_http_compression": 1}, Accept_Encoding=accept)
    assert reply.headers["Content-Encoding"] == encoding
    undo: dict[str | None, Any] = {
        "gzip": gzip.decompress,
        "deflate": zlib.decompress,
        "lz4": lz4.frame.decompress,
        "zstd": lambda body: zstd_decompress(body, 1 << 30),
        None: bytes,
    }
    assert undo[encoding](body) == plain
    unasked = posted(port, query.encode(), {}, Accept_Encoding=accept)
    assert unasked[1] == plain and unasked[2].headers["Content-Encoding"] is None


def test_blocks_are_encoded_once_more(port: Port) -> None:
    _, body, _ = posted(
        port, b"SELECT 1", {"compress": 1, "enable_http_compression": 1}, Accept_Encoding="gzip"
    )
    assert decompress_blocks(gzip.decompress(body), 100) == b"1\n"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"SELECT 7")),
        ("deflate", zlib.compress(b"SELECT 7")),
        ("lz4", lz4.frame.compress(b"SELECT 7")),
        ("zstd", zstd.compress(b"SELECT 7")),
        ("zstd", zstd.compress(b"SELECT") + zstd.compress(b" 7")),
        ("lz4", lz4.frame.compress(b"SELECT") + lz4.frame.compress(b" 7")),
        ("identity", b"SELECT 7"),
    ],
    ids=["gzip", "deflate", "lz4", "zstd", "two zstd", "two lz4", "identity"],
)
def test_a_query_may_be_encoded(port: Port, encoding: str, body: bytes) -> None:
    assert posted(port, body, Content_Encoding=encoding)[:2] == (200, b"7\n")
    assert posted(port, block(body), {"decompress": 1})[0] != 200 or encoding == "identity"


@pytest.mark.parametrize("method", [0x02, 0x82, 0x90])
def test_a_query_may_be_in_blocks(port: Port, method: int) -> None:
    asked = block(b"SELECT ", method) + block(b"7", method)
    assert posted(port, asked, {"decompress": 1})[:2] == (200, b"7\n")
    assert posted(port, gzip.compress(asked), {"decompress": 1}, Content_Encoding="gzip")[:2] == (200, b"7\n")


_BOMB = b"SELECT 1 -- " + b" " * (4 << 20)


@pytest.mark.parametrize(
    ("body", "query", "encoding", "code", "said"),
    [
        (block(b"SELECT 7")[:-1], {"decompress": 1}, "", 33, "are there"),
        (block(b"SELECT 7")[:20], {"decompress": 1}, "", 33, "breaks off"),
        (b"\0" + block(b"SELECT 7")[1:], {"decompress": 1}, "", 40, "hash"),
        (block(b"SELECT 7", size=5), {"decompress": 1}, "", 33, "5 bytes"),
        (block(b"SELECT 7", size=2**32 - 1), {"decompress": 1}, "", 33, "4,294,967,295"),
        (block(b"SELECT 7", holds=2**32 - 1), {"decompress": 1}, "", 39, "larger than"),
        (block(b"SELECT 7", holds=7), {"decompress": 1}, "", 271, "cannot be decompressed"),
        (block(b"SELECT 7", holds=9), {"decompress": 1}, "", 271, "holds 9"),
        (block(b"SELECT 7", 0x90, holds=9), {"decompress": 1}, "", 271, "holds 9"),
        (block(b"SELECT 7", 0x91), {"decompress": 1}, "", 89, "0x91"),
        (block(_BOMB), {"decompress": 1}, "", 39, "larger than"),
        (block(_BOMB, 0x90, holds=1000), {"decompress": 1}, "", 271, "holds 1,000"),
        (gzip.compress(_BOMB), {}, "gzip", 39, "larger than"),
        (zstd.compress(_BOMB), {}, "zstd", 39, "larger than"),
        (lz4.frame.compress(_BOMB), {}, "lz4", 39, "larger than"),
        (gzip.compress(b"SELECT 7")[:-3], {}, "gzip", 271, "middle"),
        (zstd.compress(b"SELECT 7")[:-3], {}, "zstd", 271, "middle"),
        (lz4.frame.compress(b"SELECT 7")[:-9], {}, "lz4", 271, "middle"),
        (b"SELECT 7", {}, "zstd", 271, "not zstd"),
        (b"SELECT 7", {}, "lz4", 271, "not lz4"),
        (b"SELECT 7", {}, "br", 89, "'br'"),
    ],
    ids=range(21),
)
def test_what_cannot_be_undone_is_refused_with_clickhouses_code(
    port: Port, body: bytes, query: dict[str, Any], encoding: str, code: int, said: str
) -> None:
    headers = {"Content_Encoding": encoding} if encoding else {}
    _, answer, reply = posted(port, body, query, **headers)
    assert (reply.headers["X-ClickHouse-Exception-Code"], said in answer.decode()) == (str(code), True), (
        answer
    )
    assert posted(port, b"SELECT 1")[:2] == (200, b"1\n")


@pytest.mark.parametrize("query", [{}, {"decompress": 1}])
def test_a_body_that_is_too_large_even_compressed_is_told_so(port: Port, query: dict[str, Any]) -> None:
    headers = {} if query else {"Content_Encoding": "gzip"}
    status, answer, _ = posted(port, b"\0" * (4 << 20), query, **headers)
    assert (status, b"at most" in answer) == (413, True), answer


def test_a_form_gives_statement_and_parameters(port: Port) -> None:
    body, kind = form([("query", "SELECT length({large:String})"), ("param_large", "ä" * 500_000)])
    assert posted(port, body, {}, Content_Type=kind)[:2] == (200, b"1000000\n")
    body, kind = form([("param_x", "a--b0undar")])
    asked = {"query": "SELECT {x:String} FORMAT JSONCompactEachRow"}
    assert posted(port, body, asked, Content_Type=kind)[1] == b'["a--b0undar"]\n'
    body, kind = form([("query", "SELECT 1")])
    assert (
        posted(port, gzip.compress(body), {"compress": 1}, Content_Type=kind, Content_Encoding="gzip")[0]
        == 200
    )


@pytest.mark.parametrize(
    ("fields", "query", "end", "code", "said"),
    [
        ([("query", "SELECT 1")], {}, "", 27, "last boundary"),
        ([("query", "SELECT 1"), ("query", "SELECT 2")], {}, "--", 36, "'query' is given twice"),
        ([("query", "SELECT 1")], {"query": "SELECT 2"}, "--", 36, "'query' is given twice"),
        ([("param_x", "1")] * 1001, {"query": "SELECT 1"}, "--", 36, "1000 fields"),
        ([("query", "DROP TABLE runs")], {}, "--", 164, "read-only"),
        ([('q"; filename="f', "1")], {"query": "SELECT 1"}, "--", 48, "external tables"),
    ],
)
def test_a_form_that_is_wrong_is_refused(
    port: Port, fields: list[tuple[str, str]], query: dict[str, Any], end: str, code: int, said: str
) -> None:
    body, kind = form(fields, end=end)
    _, answer, reply = posted(port, body, query, Content_Type=kind)
    assert (reply.headers["X-ClickHouse-Exception-Code"], said in answer.decode()) == (str(code), True), (
        answer
    )


def test_an_address_gives_its_query_once(port: Port) -> None:
    status, answer, _ = port.ask("/?query=SELECT+1&query=SELECT+2")
    assert (status, b"twice" in answer) == (500, True)


@given(st.binary(max_size=3 * BLOCK_BYTES // 1000), st.integers(1, 2000))
@settings(deadline=None)
def test_blocks_hold_what_was_put_in(content: bytes, times: int) -> None:
    whole = content * times
    assert decompress_blocks(b"".join(compressed_blocks(whole)), len(whole)) == whole


@given(st.binary(max_size=300), st.booleans())
@settings(deadline=None)
def test_no_body_is_more_than_an_error(body: bytes, begins_well: bool) -> None:
    for read in (
        lambda: decompress_blocks(block(b"SELECT 1") + body if begins_well else body, 1000),
        lambda: read_form(body, "multipart/form-data; boundary=x"),
    ):
        try:
            read()
        except SqlError as error:
            assert error.code


def test_codes_have_the_engine_s_names(port: Port) -> None:
    codes = ", ".join(map(str, _NAMES))
    named = posted(
        port, f"SELECT number, errorCodeToName(number) FROM numbers(1000) WHERE number IN ({codes})".encode()
    )
    assert dict(line.split("\t") for line in named[1].decode().splitlines()) == {
        str(c): n for c, n in _NAMES.items()
    }
