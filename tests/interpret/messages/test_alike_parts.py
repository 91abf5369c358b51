"""Answers that may agree are found by what their parts have in common, and are just those that agree."""

from __future__ import annotations

from itertools import product

from made_runs import asks, returned, said

from retrospan.ingest.interpret.messages.alike_parts import ToldAnswers
from retrospan.ingest.interpret.messages.completion import agree
from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.messages.messages import read_messages

_CALLS = [
    asks("look", arguments, call_id)
    for arguments in ({"a": 1, "b": [2]}, None)
    for call_id in ("c1", "c2", None)
]
_SAID = [
    said("assistant"),
    said("assistant", "Yes."),
    said("assistant", "No."),
    *(said("assistant", call) for call in _CALLS),
    said("assistant", "Yes.", _CALLS[0]),
    said("assistant", asks("look", {"b": [2], "a": 1.0}, None)),
    said("assistant", asks("find", {"a": 1, "b": [2]}, "c3")),
    *(returned(call_id, response) for call_id in ("c1", None) for response in ("cold", {"is": "cold"})),
]


def test_those_that_are_found_are_those_that_agree() -> None:
    read = [messages for each in _SAID if (messages := read_messages([each], "assistant"))]
    for one, other in product(read, read):
        assert ToldAnswers([other]).any_agrees(one) == agree(one, other), (one, other)
    for one in read:
        assert ToldAnswers(read).any_agrees(one)


def test_nothing_agrees_with_no_answers() -> None:
    empty: list[Message] = [{"role": "assistant", "parts": []}]
    assert not ToldAnswers([]).any_agrees(empty)
    assert ToldAnswers([empty]).any_agrees(empty)
