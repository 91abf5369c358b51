"""What changed from one run to the next, a line for each step."""

from __future__ import annotations

from dataclasses import replace

from golden.agents import weather_run
from replay.recorded import tool_call

from retrospan.schemas.bundle.changes import changes


def test_changes_are_told_once_each() -> None:
    before = weather_run()
    assert changes(before, before) == []
    calls = before.calls
    told = changes(
        before, replace(before, calls=(*calls[:1], tool_call(2, "ask", {"q": "<b>"}, 1), *calls[2:]))
    )
    assert told == ['- step 2: get_weather({"city":"Oslo"})', '+ step 2: ask({"q":"<b>"})']
    many = tuple(tool_call(n, f"t{n}", {}, 1) for n in range(99))
    assert len(changes(before, replace(before, calls=many))) == 41
