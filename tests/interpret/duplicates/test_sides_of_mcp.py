"""An execution that its program tells, and once more the client or the server of MCP beside it."""

from __future__ import annotations

import json

import pytest
from made_runs import agent, asks, chat, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Hi")
RESULT = '{"temp_c": -3}'
ADDED = "\n<system-reminder>\n9 tokens left\n</system-reminder>"
CALL_ID = "call_1a2b3c4d5e6f"


def read(*executed: Span) -> Rows:
    asked = chat(1, [HI], asks("mcp__shop__get_weather", {"city": "Oslo"}, CALL_ID))
    return rows(agent(), asked, *executed, chat(9, [HI], "Snow."))


def told(at: float = 3, takes: float = 4, returned: str = RESULT + ADDED, **more: str) -> Span:
    """Return what the program tells: without the id of the call, with what it told the model."""
    more["gen_ai__tool__call__result"] = returned
    return tool(at, "mcp__shop__get_weather", {"city": "Oslo"}, takes=takes, **more)


def side(
    at: float = 4,
    takes: float = 1,
    city: str = "Oslo",
    name: str = "get_weather",
    method: str = "tools/call",
    *,
    failed: bool = False,
) -> Span:
    """Return MCP's own span of it, with what the tool returned."""
    result = {"content": [{"type": "text", "text": RESULT}], "isError": failed}
    given = {"tool_name": name, "arguments": {"city": city}}
    of_mcp = {"mcp__method__name": method} if method else {}
    return tool(at, name, given, result, takes=takes, **of_mcp)


def test_it_is_one_call_and_returned_what_mcp_says() -> None:
    found = read(told(), side())
    (call,) = found.tool_calls
    assert (call.tool_name, call.tool_call_id, call.status) == ("mcp__shop__get_weather", CALL_ID, "ok")
    assert json.loads(call.arguments or "") == {"city": "Oslo"}
    assert json.loads(call.result or "") == json.loads(RESULT)


def test_each_of_several_is_the_one_inside_it() -> None:
    calls = read(told(2, 2), side(2.5, 0.5), told(5, 2), side(5.5, 0.5)).tool_calls
    assert len(calls) == 2
    both = read(told(2, 2), told(2, 2), side(2.5, 0.5)).tool_calls
    assert len(both) == 3  # of which it is, nothing says


@pytest.mark.parametrize(
    "other",
    [side(7.5), side(city="Bergen"), side(name="get_news"), side(method="")],
    ids=["after it", "given something else", "another tool", "not of MCP"],
)
def test_another_execution_stays_one(other: Span) -> None:
    assert len(read(told(), other).tool_calls) == 2


@pytest.mark.parametrize(
    ("returned", "failed"),
    [("Snow.", False), (RESULT, False), (RESULT + ADDED, True)],
    ids=["something else", "just that", "of one that failed"],
)
def test_what_the_program_tells_stays_where_mcp_does_not_say_the_beginning_of_it(
    returned: str, failed: bool
) -> None:
    (call,) = read(told(returned=returned), side(failed=failed)).tool_calls
    assert (call.result or "").replace(" ", "") == returned.replace(" ", "")
