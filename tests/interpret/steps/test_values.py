"""Values of a run: what a prompt repeats has the numbers and hashes that it would have if it were looked at again."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrospan.ingest.interpret.messages.message import Message, repeated
from retrospan.ingest.interpret.steps.values import Values
from retrospan.ingest.json_text import write_json
from retrospan.schemas.hashing import GrowingHash, canonical_text, hash_of, hash_of_text, is_canonical


def said(text: str, role: str = "user") -> Message:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


@pytest.mark.parametrize(
    "text", ["plain", 'quoted "so"\n', "Grüße ☃", "\x00", "half \ud83d", "a byte \udc80", ""]
)
@pytest.mark.parametrize("kind", ["text", "reasoning"])
def test_a_message_of_texts_is_hashed_and_written_like_any_other(text: str, kind: str) -> None:
    message: Message = {
        "role": "user",
        "parts": [{"type": kind, "content": text}, {"type": "text", "content": "x"}],
    }
    values = Values()
    (value,) = (values.all[number - 1] for number in values.prompt([message], 1))
    assert value.hash == hash_of(message)
    assert json.loads(value.json) == message or "\udc80" in text
    named: Message = {**message, "name": "orla"}
    assert values.all[values.message(named) - 1].hash == hash_of(named) != value.hash


def test_a_prompt_has_the_numbers_that_its_messages_have_one_by_one() -> None:
    messages = [said(str(number % 7)) for number in range(20)]
    prompts = [
        messages[:3],
        messages[:3],
        messages[:9],
        messages[2:9],
        [],
        messages,
        [said("0"), *messages[1:]],
    ]
    together, alone = Values(), Values()
    for call, prompt in enumerate(prompts, start=1):
        assert together.prompt(prompt, call) == [alone.message(message, call) for message in prompt]
    assert together.all == alone.all


def test_a_prompt_that_was_changed_since_is_not_taken_for_what_it_was() -> None:
    values, prompt = Values(), [said("a"), said("b")]
    first = values.prompt(prompt, 1)
    prompt.insert(1, said("c"))
    again = values.prompt(prompt, 2)
    assert (first, again) == ([1, 2], [1, 3, 2])


def test_only_the_very_messages_are_repeated() -> None:
    one, other = said("a"), said("b")
    assert repeated([one], [one, other]) == 1
    assert repeated([one, other], [one]) == repeated([one], [said("a"), other]) == repeated([], [one]) == 0


def test_a_list_that_grows_is_hashed_as_one_that_does_not() -> None:
    hashes = [hash_of(number) for number in range(30)]
    lists = [[], [1], [1, 2, 3], [1, 2, 3], [1, 2, 3, 4], [4], [], [], [1, 2], [1, 3], [*range(30)]]
    growing = GrowingHash()
    for numbers in lists:
        assert growing.of(numbers, hashes.__getitem__) == hash_of([hashes[number] for number in numbers])
    assert any(len(one) < len(other) and other[: len(one)] == one for one, other in pairwise(lists))


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


@given(_JSON)
@example({"a": 1, "b": None, "c": True, "d": "x"})
@example({"b": 1, "a": 2})
@example({"a": 1.0})
@example("half \ud83d")
@example("\x00")
def test_what_is_said_to_be_canonical_already_is(value: object) -> None:
    text = write_json(value)
    if is_canonical(value, text):
        assert text == canonical_text(value)
        assert hash_of_text(text) == hash_of(value)
    assert Values().compared(value) == hash_of(Values().comparable(value))


def test_objects_of_texts_and_numbers_in_order_are_canonical() -> None:
    assert is_canonical({"a": 1, "b": "x", "c": None}, write_json({"a": 1, "b": "x", "c": None}))
    assert is_canonical("text", '"text"')
    assert not is_canonical({"b": 1, "a": 1}, write_json({"b": 1, "a": 1}))
    assert not is_canonical({"a": 1.0}, write_json({"a": 1.0}))
