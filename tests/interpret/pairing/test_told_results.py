"""Results that events and log records tell of calls that no span executed and no prompt answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import SECOND, agent, asks, chat, rows, said, tool

from retrospan.ingest.interpret.spans.span import Event, LogRecord, Span

ASKED = said("user", "How is Oslo?")
CALL = asks("weather", {"city": "Oslo"}, "c1")
SNOW = {"sky": "snow"}


def run(*events: tuple[str, dict[str, Any]], records: bool = False, more: tuple[Span, ...] = ()) -> list[Any]:
    """Return status and result of each tool call of an agent beside whose calls these events lie."""
    root = agent()
    for place, (name, attributes) in enumerate(events):
        at = int(1_003 * SECOND) + place
        if records:
            root.logs.append(
                LogRecord(
                    event=name, time_ns=at, body=None, attributes=attributes, order=(at, 0, str(attributes))
                )
            )
        else:
            root.events.append(Event(name=name, time_ns=at, attributes=attributes))
    found = rows(root, chat(1, [ASKED], CALL), *more, chat(5, [ASKED], "It snows."))
    return [(call.status, call.result) for call in found.tool_calls]


TOLD = {"tool_use_id": "c1", "tool": "weather"}


@pytest.mark.parametrize("records", [False, True])
def test_what_an_event_tells_of_a_call_is_its_result(records: bool) -> None:
    expected = [("ok", json.dumps(SNOW, separators=(",", ":")))]
    assert run(("tool_finished", {**TOLD, "content": json.dumps(SNOW)}), records=records) == expected
    assert run(("act", {**TOLD, "act.output": json.dumps(SNOW)}), records=records) == expected
    twice = ("tool_finished", {**TOLD, "content": json.dumps(SNOW)})
    assert run(twice, twice, records=records) == expected


def test_what_says_that_it_failed_did() -> None:
    failed = {**TOLD, "output": "no such city", "is_error": True}
    assert run(("tool_finished", failed)) == [("error", "no such city")]


@pytest.mark.parametrize(
    "events",
    [
        (("tool_started", {**TOLD, "content": '{"city": "Oslo"}'}),),
        (("tool_finished", {**TOLD, "tool_use_id": "c2", "content": "snow"}),),
        (("tool_finished", {"after": "c1", "content": "snow"}),),
        (("tool_finished", {**TOLD, "content": "snow"}), ("tool_finished", {**TOLD, "content": "rain"})),
        (("tool_finished", {**TOLD, "content": "snow", "text": "rain"}),),
        (("tool_finished", TOLD),),
    ],
    ids=["its beginning", "another call", "no id", "two results", "two contents", "nothing"],
)
def test_what_is_not_its_result_leaves_it_open(events: tuple[tuple[str, dict[str, Any]], ...]) -> None:
    assert run(*events) == [("unknown", None)]


def test_what_a_span_says_comes_first() -> None:
    executed = tool(3, "weather", {"city": "Oslo"}, SNOW, gen_ai__tool__call__id="c1")
    told = ("tool_finished", {**TOLD, "content": "rain"})
    assert run(told, more=(executed,)) == [("ok", json.dumps(SNOW, separators=(",", ":")))]
