"""A workflow that no attribute names is called as its span, without the operation that stands before the name."""

from __future__ import annotations

import pytest
from made_runs import act, chat, rows, said


@pytest.mark.parametrize(
    ("operation", "name", "called"),
    [
        ("invoke_workflow", "invoke_workflow orla", "orla"),
        ("chain", "chain orla", "orla"),
        ("", "invoke_workflow orla", "orla"),
        ("", "chain orla", "chain orla"),
        ("chain", "chained orla", "chained orla"),
    ],
)
def test_the_operation_is_no_part_of_a_name(operation: str, name: str, called: str) -> None:
    root = act(
        operation,
        0,
        takes=9,
        span_id=f"{1:016x}",
        parent_span_id="",
        name=name,
        openinference__span__kind="CHAIN",
    )
    asked = chat(1, [said("user", "Hi")], "Hi.", gen_ai__agent__name="")
    (call,) = rows(root, asked).model_calls
    assert call.agent_name == called
