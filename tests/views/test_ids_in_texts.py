"""Which ids are taken out of texts before they are compared, and what is left as it stands."""

from __future__ import annotations

import pytest

from retrospan.ingest.warehouse.embedded import EmbeddedStore


def _plain(store: EmbeddedStore, text: str) -> str:
    return str(store.rows("SELECT retrospan_without_ids({text:String})", {"text": text})[0][0])


@pytest.mark.parametrize(
    "call",
    [
        # As Python shows it (smolagents writes its memory so), as JSON, and as JSON inside of JSON.
        "[{'id': 'call_diverge_a_0_1_0', 'type': 'function', 'function': {'name': 'search'}}]",
        '[{"id":"0","type":"function","function":{"name":"search"}}]',
        '{"content":"[{\\"id\\": \\"a b\\", \\"type\\": \\"function\\"}]"}',
    ],
)
def test_the_id_of_a_call_is_taken_out_whatever_it_looks_like(store: EmbeddedStore, call: str) -> None:
    other = call.replace("call_diverge_a_0_1_0", "x-7").replace('"0"', '"1"').replace("a b", "c")
    assert other != call
    assert _plain(store, call) == _plain(store, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("{'id': 'O-77', 'type': 'order'}", "{'id': 'O-78', 'type': 'order'}"),
        ("{'id': 'O-77', 'name': 'function'}", "{'id': 'O-78', 'name': 'function'}"),
        (
            "{'id': 'x', 'type': 'function', 'function': {'name': 'search'}}",
            "{'id': 'x', 'type': 'function', 'function': {'name': 'send'}}",
        ),
        ("{'order_id': 'a', 'type': 'function'}", "{'order_id': 'b', 'type': 'function'}"),
        ("call_center_manager_1", "call_center_manager_2"),
        # Digits alone: a card, an account, an amount.
        ('{"to":"4111111111111111"}', '{"to":"5500000000000004"}'),
        ('{"amount":1000000000000000}', '{"amount":2000000000000000}'),
        ("DE 12345678901234567890", "DE 12345678901234567899"),
    ],
)
def test_what_is_not_the_id_of_a_call_stays(store: EmbeddedStore, one: str, other: str) -> None:
    assert _plain(store, one) != _plain(store, other)


@pytest.mark.parametrize(
    "text",
    [
        "commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
        "trace 4bf92f3577b34da6a3ce929d0e0e4736",
        "msg-1234567890123456",
        "call_1234567890123456",
        "3f2b8c1e-1111-4222-8333-123456789012",
    ],
)
def test_an_id_is_taken_out(store: EmbeddedStore, text: str) -> None:
    assert _plain(store, text).rpartition(" ")[2] == "#"


@pytest.mark.parametrize("text", ["4111111111111111", "to 41111111111111110000.", "12", "a zqz", ""])
def test_a_text_without_ids_stays_as_it_is(store: EmbeddedStore, text: str) -> None:
    assert _plain(store, text) == text
