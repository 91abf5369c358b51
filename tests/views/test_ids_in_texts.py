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
    ],
)
def test_what_is_not_the_id_of_a_call_stays(store: EmbeddedStore, one: str, other: str) -> None:
    assert _plain(store, one) != _plain(store, other)
