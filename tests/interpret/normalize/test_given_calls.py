"""What a tool was given and returned, in the objects of a framework that runs it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_spans import make_span
from spans import read_run


def _tool(given: object, returned: object = "2", call_id: str = "", **more: Any) -> Any:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "tool.name": "look",
        "input.value": json.dumps(given),
    }
    ids: dict[str, object] = {"tool_call.id": call_id} if call_id else {}
    span = make_span({**attributes, "output.value": json.dumps(returned), **ids}, "look", **more)
    (tool,) = read_run("r", [span]).calls.tools
    return tool


@pytest.mark.parametrize(
    "given",
    [
        {"name": "look", "arguments": '{"city": "Oslo", "days": 2}'},
        {"name": "look", "arguments": {"city": "Oslo", "days": 2}, "id": "c1", "type": "function"},
        [
            {"name": "city", "type": "string", "value": "Oslo"},
            {"name": "days", "type": "integer", "value": "2"},
        ],
        [{"name": "city", "value": "Oslo"}, {"name": "days", "value": 2}],
    ],
)
def test_the_arguments_in_a_call_or_in_a_list_of_parameters_are_the_tools(given: object) -> None:
    assert _tool(given).arguments == {"city": "Oslo", "days": 2}


def test_what_stands_before_the_options_of_a_call_are_its_arguments_and_these_tell_its_id() -> None:
    given, options = {"city": "Oslo"}, {"toolCallId": "c1", "messages": [{"role": "user", "content": "Hi"}]}
    tool = _tool({"args": [given, options]})
    assert (tool.arguments, tool.call_id) == (given, "c1")
    assert _tool({"args": [given, options]}, call_id="c2").call_id == "c2"
    for other in (
        {"args": [given, {"id": "c1"}]},
        {"args": [given, options], "to": "ada"},
    ):
        assert (_tool(other).arguments, _tool(other).call_id) == (other, None)


@pytest.mark.parametrize(
    "given",
    [
        {"name": "other", "arguments": {"city": "Oslo"}},
        {"name": "look", "arguments": "Oslo"},
        {"name": "look", "arguments": {"city": "Oslo"}, "days": 2},
        [{"name": "city", "value": "Oslo"}, {"name": "city", "value": "Bergen"}],
        [{"name": "city", "value": "Oslo", "unit": "m"}],
    ],
)
def test_other_objects_are_the_arguments_themselves(given: object) -> None:
    assert _tool(given).arguments == given


def test_the_message_behind_a_truth_value_is_what_the_tool_said() -> None:
    def told(went_well: object, content: str, role: str = "function") -> Any:
        return _tool({}, [went_well, {"name": "look", "role": role, "content": content}])

    assert (told(True, "{'n': 1}").result, told(True, "{'n': 1}").status) == ({"n": 1}, "ok")
    failed = told(False, "Error: locked")
    assert (failed.result, failed.status, failed.error_message) == ("Error: locked", "error", "Error: locked")
    assert isinstance(told(1, "x").result, list)
    assert isinstance(told(True, "x", "user").result, list)


def test_a_word_that_stands_for_no_id_is_none() -> None:
    assert _tool({}, call_id="default").call_id is None
    assert _tool({}, call_id="call_1").call_id == "call_1"
