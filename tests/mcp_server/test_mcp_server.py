"""The server by the road of its users: the SDK's client starts it, or asks it over HTTP."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from fix_cli import HOSTILE, LOOP, REFUND
from mcp import Client, StdioServerParameters, stdio_client
from mcp_server.asking import COMMAND, environ, over_http, posted, text_of


@asynccontextmanager
async def started(collector: str) -> AsyncIterator[Client]:
    """A client that started a server of its own."""
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=environ(collector))
    async with Client(stdio_client(server)) as client:
        yield client


#: Asks a server through its client, and returns what came of it.
Asked = Callable[[Callable[[Client], Awaitable[Any]]], Any]


@contextmanager
def connected(collector: str) -> Iterator[Asked]:
    """One server, and what asks it."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(started(collector)) as client,
    ):
        yield lambda ask: portal.call(ask, client)


@pytest.fixture(scope="module")
def asked(collector: str) -> Iterator[Asked]:
    """Asks one server, whatever it was asked before."""
    with connected(collector) as asked:
        yield asked


def test_the_list_of_tools_is_short(asked: Asked) -> None:
    found = asked(lambda client: client.list_tools())
    names = ["runs", "why", "show", "state", "diff", "trace", "entity", "sql"]
    assert [tool.name for tool in found.tools] == names
    assert all(tool.annotations.read_only_hint for tool in found.tools)
    assert len(found.model_dump_json(exclude_none=True, by_alias=True)) < 6_000


def test_each_tool_says_what_its_command_says(asked: Asked) -> None:
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("runs", {"limit": 50}, REFUND[:8]),
        ("why", {"run": LOOP}, "4 times in a row with equal arguments"),
        ("why", {"since": "2026-09-21", "agent": "orla"}, "INCONCLUSIVE: the candidate has "),
        ("why", {"run": LOOP, "against": REFUND, "full": True}, f"“{REFUND}”, which --against names"),
        ("show", {"run": REFUND}, REFUND[:8]),
        ("show", {"run": REFUND, "step": 1, "full": True}, f"{REFUND[:8]}/1"),
        ("show", {"run": REFUND, "step": 1.0, "max_characters": 4_000.0}, f"{REFUND[:8]}/1"),
        ("runs", {"limit": 1.0}, "1 of "),
        ("state", {"run": REFUND}, "SINCE"),
        ("diff", {"run": REFUND, "other_run": LOOP}, REFUND[:8]),
        ("trace", {"reference": REFUND, "depth": 3}, REFUND[:8]),
        (
            "sql",
            {"query": "SELECT {a:UInt8} + 1 AS sum", "parameters": {"a": "41"}, "format": "json"},
            '"sum":42',
        ),
        ("sql", {"query": "SELECT entity_type FROM entity_timeline LIMIT 1"}, "entity_type"),
    ]

    async def ask(client: Client) -> list[Any]:
        return [await client.call_tool(name, given) for name, given, _ in calls]

    for (name, given, expected), result in zip(calls, asked(ask), strict=True):
        text = text_of(result)
        assert not result.is_error, text
        assert expected in text, (name, given, text)
        assert len(text) <= 8_000
        assert all(line.startswith(("| ", "|+ ", "|! ", "[lines ")) for line in text.split("\n")), text


@pytest.mark.long
def test_a_long_answer_is_cut_and_goes_on_where_it_says(asked: Asked) -> None:
    query = "SELECT number AS n, repeat('word ', 40) AS w FROM numbers(500)"

    async def ask(client: Client) -> list[str]:
        pages = list[str]()
        given: dict[str, Any] = {"query": query, "format": "json"}
        while given:
            page = text_of(await client.call_tool("sql", given))
            pages.append(page)
            _, found, again = page.rpartition("; next: sql ")
            given = json.loads(again.removesuffix("]")) if found else {}
        return pages

    pages = asked(ask)
    assert len(pages) > 10 and all(len(page) <= 8_000 for page in pages)
    rows = [json.loads(line[2:]) for page in pages for line in page.split("\n") if line.startswith("| ")]
    assert [row["n"] for row in rows] == list(range(500))


@pytest.mark.long
def test_why_fits_into_one_answer(asked: Asked) -> None:
    async def ask(client: Client) -> list[str]:
        given = [{"run": run} for run in (REFUND, LOOP, HOSTILE)]
        return [text_of(await client.call_tool("why", each)) for each in given]

    for text in asked(ask):
        assert len(text) <= 8_000 and "[lines " not in text and "What is not known" in text


@pytest.mark.parametrize("tool", ["show", "why"])
def test_text_that_gives_orders_stays_quoted(asked: Asked, tool: str) -> None:
    text = text_of(asked(lambda client: client.call_tool(tool, {"run": HOSTILE, "full": True})))
    assert all(line.startswith(("| ", "|+ ", "|! ", "[lines ")) for line in text.splitlines())
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("shows", {}, "There is no tool 'shows'. Tools: runs, why, show"),
        ("show", {}, "'run' is a required property"),
        ("show", {"run": 7}, "run: 7 is not of type 'string'"),
        ("show", {"run": REFUND, "step": "two"}, "step: 'two' is not of type 'integer'"),
        ("show", {"run": REFUND, "stpe": 2}, "Arguments: run, step, full, from_line, max_characters"),
        ("show", {"run": "4bf92f36"}, "4bf92f36"),
        ("show", {"run": "last\x00"}, "show: a text holds the character NUL"),
        ("sql", {"query": "SELECT 1", "parameters": {"a": "\x00"}}, "sql: a text holds the character NUL"),
        ("show", {"run": "--debug"}, "--debug"),
        ("sql", {"query": "INSERT INTO runs VALUES (1)"}, "error:"),
        ("sql", {"query": "SELECT * FROM url('http://127.0.0.1/')"}, "error:"),
        ("sql", {"query": "SELECT n"}, "n"),
        ("runs", {"since": "soon"}, "soon"),
        ("runs", {"limit": 10_000}, "limit: 10000 is greater than the maximum of 1000"),
    ],
)
def test_what_cannot_be_answered_is_an_error_that_says_why(
    asked: Asked, name: str, given: dict[str, Any], words: str
) -> None:
    result = asked(lambda client: client.call_tool(name, given))
    assert result.is_error
    assert words in text_of(result)
    assert "Traceback" not in text_of(result)


def test_over_http_a_client_of_no_sdk_is_answered(collector: str) -> None:
    with over_http(collector) as url:
        listed = posted(url, "tools/list", {})
        assert len(listed["result"]["tools"]) == 8
        called = posted(url, "tools/call", {"name": "show", "arguments": {"run": REFUND}})
        assert called["result"]["content"][0]["text"].startswith("| ")

        async def by_sdk() -> str:
            async with Client(url) as client:
                return text_of(await client.call_tool("runs", {}))

        assert REFUND[:8] in anyio.run(by_sdk)


def test_over_http_nobody_reaches_it_under_another_name(collector: str) -> None:
    with over_http(collector) as url:
        for headers in (
            {"Host": "evil.example"},
            {"Host": "localhost:80@evil.example"},
            {"Host": "127.0.0.1:80:80"},
            {"Origin": "http://evil.example"},
            {"Origin": "http://127.0.0.1:80@evil.example"},
            {"Origin": "null"},
        ):
            with pytest.raises(urllib.error.HTTPError) as refused:
                posted(url, "tools/list", {}, **headers)
            with refused.value:
                assert refused.value.code in (403, 421)


def test_over_http_a_command_ends_when_its_client_hangs_up() -> None:
    """Four at a time are done: one that nobody waits for would keep others waiting."""
    with socket.create_server(("127.0.0.1", 0)) as silent, over_http(address(silent)) as url:
        silent.settimeout(60)
        at = urlsplit(url)
        client = HTTPConnection(str(at.hostname), at.port)
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "runs", "arguments": {}},
        }
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        client.request("POST", at.path, json.dumps(body), {**sent, "MCP-Protocol-Version": "2025-06-18"})
        asked, _ = silent.accept()
        with asked:
            asked.settimeout(60)
            heard = asked.recv(65_536)
            client.close()
            while more := asked.recv(65_536):
                heard += more
    assert b" HTTP/1.1\r\n" in heard, "it had asked, was not answered, and ended"


def address(listening: socket.socket) -> str:
    return "http://{}:{}".format(*listening.getsockname())


def test_a_collector_that_is_away_is_named() -> None:
    with connected("http://127.0.0.1:9") as asked:
        result = asked(lambda client: client.call_tool("runs", {}))
    assert result.is_error and "127.0.0.1:9" in text_of(result)
