"""A conversation that goes on is what it would be if it were read anew, and the one that it goes on from stays as it was."""

from __future__ import annotations

from copy import deepcopy
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrospan.schemas.bundle.canonical import Canonicalizer, CanonicalRequest, canonical_request
from retrospan.schemas.bundle.conversation import Conversation
from retrospan.schemas.hashing import canonical_json

_PART = st.one_of(
    st.builds(lambda text: {"type": "text", "content": text}, st.sampled_from(["a", "b", " ", "\udc80", "é\ue000"])),
    st.builds(
        lambda name, value: {"type": "tool_call", "id": name, "name": "f", "arguments": value},
        st.sampled_from(["x", "y", "z"]),
        st.sampled_from([{"n": 1}, {"n": True}, {"n": 1.0}, {"n": 0.5}]),
    ),
    st.builds(lambda name: {"type": "tool_call_response", "id": name, "response": "r"}, st.sampled_from(["x", "z"])),
)  # fmt: skip
_MESSAGE = st.builds(
    lambda role, parts: {"role": role, "parts": parts},
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.lists(_PART, max_size=3),
)


def key_of_all(request: CanonicalRequest) -> str:
    """The key as docs/bundles.md says: of everything at once."""
    names = ("model", "system", "messages", "tools")
    return sha256(
        canonical_json({**{name: getattr(request, name) for name in names}, "parameters": {}})
    ).hexdigest()


@given(st.lists(_MESSAGE, max_size=8), st.integers(0, 8))
def test_it_goes_on_as_if_it_were_read_anew(messages: list[Any], split: int) -> None:
    before = Conversation(messages[:split])
    kept = deepcopy((before.system, before.messages)), before.key(b"}")
    whole, grown = Conversation(messages), before.followed_by(messages[split:])
    assert (grown.system, grown.messages) == (whole.system, whole.messages)
    assert grown.key(b"}") == whole.key(b"}")
    assert ((before.system, before.messages), before.key(b"}")) == kept


@given(st.lists(st.lists(_MESSAGE, max_size=5), max_size=6))
def test_requests_of_several_conversations_have_the_keys_that_each_has_alone(
    conversations: list[list[Any]],
) -> None:
    known = Canonicalizer()
    for length in range(6):
        for messages in conversations:
            asked: dict[str, Any] = {"model": "m", "messages": deepcopy(messages[:length]), "tools": ["f"]}
            found, alone = known.request(**asked), canonical_request(**asked)
            assert found == alone and found.key() == alone.key()
            held = alone.held()
            assert found.reduced_to(held).key() == alone.reduced_to(held).key()


@pytest.mark.parametrize("tools", [None, [], ["f"], [{"name": "f", "parameters": {"type": "object"}}]])
def test_the_key_is_the_hash_of_the_whole_form(tools: Any) -> None:
    messages = [{"role": "user", "parts": [{"type": "text", "content": "é “a”"}]}]
    request = canonical_request(model="m", messages=messages, tools=tools)
    assert request.key() == key_of_all(request)
    assert canonical_request(model="m", tools=tools).key() == key_of_all(
        canonical_request(model="m", tools=tools)
    )


def test_true_is_not_one_in_a_message_that_was_there_before() -> None:
    known = Canonicalizer()

    def key(value: object) -> str:
        part = {"type": "tool_call", "id": "x", "name": "f", "arguments": {"n": value}}
        return known.request(messages=[{"role": "assistant", "parts": [part]}]).key()

    assert key(1) != key(True)
    assert key(1) == key(1.0)
