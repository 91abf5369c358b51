"""Whose rights a tool has: those of the token that its request brings, and over HTTP of no other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from fix_collector import Served
from mcp import Client, StdioServerParameters, stdio_client
from mcp_server.asking import COMMAND, environ, over_http, posted, text_of

READER, WRITER = "Reader-1", "Writer-1"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a collector that requires tokens."""
    folder: Path = tmp_path_factory.mktemp("guarded")
    tokens = folder / "tokens.toml"
    for name, token, right in (("reader", READER, "read"), ("writer", WRITER, "write")):
        digest = hashlib.sha256(token.encode()).hexdigest()
        with tokens.open("a", encoding="utf-8") as file:
            file.write(
                f'[[token]]\nname = "{name}"\nsha256 = "{digest}"\nrights = ["{right}"]\ntenant = "default"\n'
            )
    tokens.chmod(0o600)
    served = Served(folder / "data", folder / "stderr.txt", "--tokens", str(tokens))
    yield f"http://{served.sql}"
    served.stop()


def _called(url: str, **headers: str) -> dict[str, Any]:
    query = {"name": "sql", "arguments": {"query": "SELECT 42 AS n", "format": "csv"}}
    return dict(posted(url, "tools/call", query, **headers)["result"])


def test_over_http_a_request_has_the_rights_of_its_own_token_only(guarded: str) -> None:
    with over_http(guarded, RETROSPAN_TOKEN=READER) as url:
        without = _called(url)
        assert without["isError"] and "token" in without["content"][0]["text"]
        assert _called(url, Authorization=f"Bearer {WRITER}")["isError"]
        header = "the header Authorization: Bearer of the request"
        for given, told in (
            ({}, f"{header} is not set"),
            ({"Authorization": "Bearer Nobody-1"}, f"from {header}"),
            ({"Authorization": "Bearer not one"}, f"{header} holds something that is not a token"),
        ):
            said = _called(url, **given)["content"][0]["text"]
            assert told in said and "RETROSPAN_TOKEN" not in said
        assert _called(url, Authorization=f"Basic {READER}")["isError"]
        assert _called(url, Authorization="Bearer not one")["isError"]
        answered = _called(url, Authorization=f"Bearer {READER}")
        assert answered["content"][0]["text"] == '| "n"\n| 42'


@pytest.mark.parametrize(("token", "is_error"), [(READER, False), (WRITER, True), ("", True)])
def test_on_standard_input_it_has_those_of_its_environment(guarded: str, token: str, is_error: bool) -> None:
    async def call() -> Any:
        given = environ(guarded, RETROSPAN_TOKEN=token)
        server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=given)
        async with Client(stdio_client(server)) as client:
            return await client.call_tool("sql", {"query": "SELECT 42 AS n"})

    result = anyio.run(call)
    assert result.is_error == is_error
    assert "42" in text_of(result) or is_error
    assert READER not in text_of(result) and WRITER not in text_of(result)
