"""Filters of the Python interface: what is not one text is refused, and not compared as a text that no row has."""

from __future__ import annotations

from typing import Any

import pytest

from retrospan.queries import connect


@pytest.mark.parametrize("value", [["alpha", "beta"], ("alpha",), {"alpha"}, 7, True])
def test_a_filter_that_is_not_one_text_is_refused_before_anything_is_asked(value: Any) -> None:
    warehouse = connect("http://127.0.0.1:1")
    with pytest.raises(
        TypeError, match=r"agent_name is one text, not .* WHERE agent_name IN \{values:Array\(String\)\}"
    ):
        warehouse.runs(agent_name=value)
    with pytest.raises(TypeError, match="tool_name is one text"):
        warehouse.tool_calls(run_id="a", tool_name=value)
