"""What a tool's span is called after, where no attribute is known for the name of a tool."""

from __future__ import annotations

from typing import Any

import pytest
from made_runs import act, agent, rows


@pytest.mark.parametrize(
    ("name", "attributes", "tool"),
    [
        ("Tool.search", {"label": '"search"'}, "search"),
        ("Tool.search", {"label": "search"}, "search"),
        ("Tool.search", {"label": "find"}, "Tool.search"),
        ("Tool.search", {}, "Tool.search"),
        ("search", {"label": "search"}, "search"),
        ("execute_tool search", {}, "search"),
        ("", {"label": ""}, ""),
    ],
)
def test_the_last_word_of_a_name_is_the_tool_where_an_attribute_says_it(
    name: str, attributes: dict[str, Any], tool: str
) -> None:
    found = rows(agent(), act("execute_tool", 1, name=name, **attributes))
    assert [call.tool_name for call in found.tool_calls] == [tool]
