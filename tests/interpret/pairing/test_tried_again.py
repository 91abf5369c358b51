"""A call that was executed again after it failed: what the model was told is what the last try returned."""

from __future__ import annotations

from typing import Any

from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Hi")
CALL = asks("search", {"q": "a"}, "c1")
ASKING = chat(1, [HI], CALL)
TOLD = chat(9, [HI, said("assistant", CALL), returned("c1", {"found": 1})], "Done.")


def search(at: float, **more: Any) -> Span:
    """Return a try of the call."""
    return tool(at, arguments={"q": "a"}, gen_ai__tool__call__id="c1", **more)


def results(*tries: Span) -> list[tuple[str, str | None, str | None]]:
    """Status, result and its source of each tool call, in order."""
    read = rows(agent(), ASKING, *tries, TOLD).tool_calls
    return [(call.status, call.result, call.result_source) for call in read]


def test_a_failed_try_did_not_return_what_the_next_did() -> None:
    failed, again = search(3, error="Timeout"), search(5)
    assert results(failed, again) == [("error", None, None), ("ok", '{"found":1}', "message")]


def test_where_all_tries_failed_the_last_of_them_was_told() -> None:
    tries = [search(at, error="Timeout") for at in (2.5, 4, 5.5)]
    assert [result for _, result, _ in results(*tries)] == [None, None, '{"found":1}']


def test_what_a_failed_try_says_itself_stays() -> None:
    failed = search(3, result="half", error="Timeout")
    again = search(5)
    assert results(failed, again)[0] == ("error", '"half"', "span")


def test_what_the_next_try_says_otherwise_is_not_what_was_told() -> None:
    failed, again = search(3, error="Timeout"), search(5, result={"found": 2})
    assert results(failed, again)[0] == ("error", '{"found":1}', "message")
    assert results(failed, search(5, result={"found": 1}))[0] == ("error", None, None)


def test_a_failed_execution_alone_has_what_the_model_was_told() -> None:
    assert results(search(3, error="Timeout")) == [("error", '{"found":1}', "message")]
