"""A history read as what it adds to the one before is the history read whole."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from retrospan.ingest.interpret.messages.message_cache import PrefixCache
from retrospan.ingest.interpret.messages.messages import read_messages
from retrospan.ingest.json_text import Unreadable

_MESSAGE = st.one_of(
    st.builds(
        lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "assistant"]), st.text()
    ),
    st.text(),
    st.lists(st.builds(lambda text: {"role": "user", "content": text}, st.text()), max_size=2),
    st.just({}),
)


@given(st.lists(st.lists(_MESSAGE, max_size=4), max_size=6), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_growing_histories_read_as_if_each_were_read_alone(
    additions: list[list[object]], separators: tuple[str, str]
) -> None:
    growing, history = PrefixCache(), list[object]()
    for added in additions:
        history = [*history, *added]
        text = json.dumps(history, separators=separators)
        assert growing.read("messages", text, "user") == read_messages(json.loads(text))


def test_messages_of_a_history_are_shared_not_copied() -> None:
    growing = PrefixCache()
    first = growing.read("messages", '[{"role":"user","content":"a"}]', "user")
    second = growing.read("messages", '[{"role":"user","content":"a"},{"role":"user","content":"b"}]', "user")
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert second[0] is first[0]
    assert [message["parts"] for message in second] == [
        [{"type": "text", "content": "a"}],
        [{"type": "text", "content": "b"}],
    ]


def test_what_only_begins_alike_is_read_whole() -> None:
    growing = PrefixCache()
    growing.read("messages", '[{"role":"user","content":"a"}]', "user")
    assert isinstance(growing.read("messages", '[{"role":"user","content":"a"},', "user"), Unreadable)
    changed = growing.read("messages", '[{"role":"user","content":"b"}]', "user")
    assert changed == [{"role": "user", "parts": [{"type": "text", "content": "b"}]}]
