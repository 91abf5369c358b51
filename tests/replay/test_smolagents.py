"""Code that a model wrote calls tools by places: OpenInference records that as what `Tool.__call__` was given."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from replay.recorded import bundle, tool_call

from retrospan.exporter.replay import replay
from retrospan.schemas.errors import ReplayMiss

OURS = "retrospan.exporter.replay.tools.smolagents"


class Tool:
    """As smolagents has it, of which the tests have no copy."""

    name, inputs = "look", {"q": {"type": "string"}, "top": {"type": "integer"}}

    def __call__(self, *args: Any, sanitize_inputs_outputs: bool = False, **named: Any) -> str:
        raise AssertionError("a tool ran")


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Tool:
    kind = type("Tool", (Tool,), {"__call__": Tool.__call__})
    tools = ModuleType("smolagents.tools")
    vars(tools)["Tool"] = kind
    for name, module in {
        "smolagents": ModuleType("smolagents"),
        "smolagents.tools": tools,
        OURS: tools,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    # Ours is imported anew, and gone with the test.
    del sys.modules[OURS]
    made: Tool = kind()
    return made


def test_a_call_by_places_is_known_again(look: Tool) -> None:
    said = {"args": ["a"], "sanitize_inputs_outputs": False, "kwargs": {"top": 2}}
    with replay(bundle(tool_call(1, "look", said, "found"), tool_call(2, "look", {"q": "b"}, "named"))) as r:
        assert [look("a", top=2), look(q="b")] == ["found", "named"]
    assert r.report.verdict == "identical"
    with pytest.raises(ReplayMiss), replay(bundle(tool_call(1, "look", said, "found"))):
        look("b", top=2)
