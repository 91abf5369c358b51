"""What tools returned is known from the observation that follows the calls where these are told as a text; any other text stays
what it is."""

from __future__ import annotations

import pytest
from made_runs import agent, asks, chat, rows, said

HI = said("user", "How is Oslo?")
OSLO, BERGEN = asks("weather", {"city": "Oslo"}, "call_1"), asks("weather", {"city": "Bergen"}, "call_2")
PRINTED = "Calling tools:\n[{'id': 'call_1', 'function': {'name': 'weather', 'arguments': {'city': 'Oslo'}}}]"
BOTH = PRINTED.replace("}]", "}, {'id': 'call_2', 'function': {'name': 'weather'}}]")


def _told(*new: dict[str, object], both: bool = False) -> list[tuple[str | None, str]]:
    """Return what each call returned and how it went, by a prompt that goes on with these messages."""
    asked = (OSLO, BERGEN) if both else (OSLO,)
    found = rows(agent(), chat(1, [HI], *asked), chat(5, [HI, *new], "Snow."))
    return [(call.result, call.status) for call in found.tool_calls]


def test_what_follows_the_word_is_what_the_call_returned() -> None:
    asking = said("assistant", PRINTED)
    assert _told(asking, said("user", "Observation:\n{'sky': 'snow', 'wind': None}")) == [
        ('{"sky":"snow","wind":null}', "ok")
    ]
    assert _told(asking, said("user", 'Observation: {"sky": "snow"}')) == [('{"sky":"snow"}', "ok")]
    assert _told(asking, said("tool", "Observation:\nIt snows.\nIt is cold.")) == [
        ("It snows.\nIt is cold.", "ok")
    ]


def test_of_several_calls_each_has_its_line() -> None:
    asking = said("assistant", BOTH)
    assert _told(asking, said("user", "Observation:\n{'sky': 'snow'}\n[]"), both=True) == [
        ('{"sky":"snow"}', "ok"),
        ("[]", "ok"),
    ]
    unknown = (None, "unknown")
    assert _told(asking, said("user", "Observation:\nsnow\nand\nrain"), both=True) == [unknown, unknown]


@pytest.mark.parametrize(
    "new",
    [
        [said("assistant", PRINTED), said("user", "It snows.")],
        [said("assistant", PRINTED), said("user", "My observation: it snows.")],
        [said("assistant", PRINTED.replace("call_1", "call_9")), said("user", "Observation:\nsnow")],
        [said("user", PRINTED), said("user", "Observation:\nsnow")],
        [said("user", "Observation:\nsnow")],
    ],
)
def test_any_other_text_is_no_result(new: list[dict[str, object]]) -> None:
    assert _told(*new) == [(None, "unknown")]
