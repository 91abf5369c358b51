"""Prompts that leave out every call and result are completed by the executions, of at most so many calls."""

from __future__ import annotations

import pytest
from made_runs import agent, asks, chat, rows, said, tool

from retrospan.ingest.interpret.prompts.left_out_calls import MOST

HI = said("user", "Hi")


@pytest.mark.parametrize(
    ("count", "expected"), [(1, "inferred"), (2, "inferred"), (MOST, "inferred"), (MOST + 1, "full")]
)
def test_what_a_prompt_leaves_out_is_inferred_from_the_executions(count: int, expected: str) -> None:
    cities = [f"city {number:03}" for number in range(count)]
    answer = [asks("weather", {"city": city}, f"call {city}") for city in cities]
    # Tools that run at once begin in any order.
    ran = [
        tool(2 + at / count, "weather", {"city": city}, {"sky": city}, takes=1)
        for at, city in enumerate(reversed(cities))
    ]
    first = chat(1, [HI], *answer, gen_ai__usage__input_tokens=10, gen_ai__usage__output_tokens=5)
    last = chat(6, [HI], "Done.", gen_ai__usage__input_tokens=40, gen_ai__usage__output_tokens=2)
    found = rows(agent(), first, *ran, last)
    assert [call.history for call in found.model_calls] == ["full", expected]
    results = [value.json for value in found.values if value.role == "tool"]
    assert len(results) == (count if expected == "inferred" else 0)
