"""Messages inside a state are shown as a dialogue; everything else as JSON."""

from __future__ import annotations

import json

import pytest

from retrospan.ingest.cli.views.dialogue import as_dialogue


def test_messages_of_a_framework_read_as_a_dialogue() -> None:
    state = [
        {"type": "human", "data": {"content": "Weather?", "type": "human", "id": "m1"}},
        {
            "type": "ai",
            "data": {
                "content": "",
                "type": "ai",
                "tool_calls": [
                    {"name": "get_weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}
                ],
            },
        },
        {"type": "tool", "data": {"content": "snow", "type": "tool", "tool_call_id": "c1"}},
    ]
    assert as_dialogue(json.dumps(state)) == [
        ("user", "Weather?"),
        ("assistant", '→ get_weather(city="Oslo")'),
        ("tool", "snow"),
    ]


@pytest.mark.parametrize(
    "value", [None, "[]", "{}", '"text"', "[1, 2]", '[{"id": 7}]', '[{"role": "user"}]', "not json"]
)
def test_what_is_not_a_list_of_messages_is_left_alone(value: str | None) -> None:
    assert as_dialogue(value) is None


def test_instructions_are_not_what_a_user_said() -> None:
    assert as_dialogue('[{"type": "text", "content": "You are orla."}]') is None
    assert as_dialogue('[{"type": "human", "content": "Weather?"}]') == [("user", "Weather?")]
