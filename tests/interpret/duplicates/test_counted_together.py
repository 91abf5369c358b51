"""A span that counts what the requests beside it took is none of them: two requests that are as long are two."""

from __future__ import annotations

from typing import Any

import pytest
from made_runs import agent, chat, rows, said

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Hi")


def call(
    at: float, given: int, made: int, *, name: str = "model.call", takes: float = 1, **more: Any
) -> Span:
    used = {"gen_ai__usage__input_tokens": given, "gen_ai__usage__output_tokens": made}
    return chat(at, name=name, takes=takes, **{"gen_ai__request__model": "m", **used, **more})


def used(*spans: Span) -> tuple[int, int | None, int | None]:
    run = rows(agent(), *spans).runs[0]
    return run.model_calls, run.input_tokens, run.output_tokens


TOTAL = {"at": 0.5, "given": 30, "made": 5, "name": "model.usage", "takes": 20}


def total(**more: Any) -> Span:
    return call(**{**TOTAL, **more})


def test_a_total_is_no_request() -> None:
    calls = (call(1, 10, 2), call(4, 20, 3))
    assert used(*calls, total()) == (2, 30, 5)
    found = rows(agent(), *calls, total())
    assert [step.span_id for step in found.steps] == [each.span_id for each in calls]
    assert used(call(1, 30, 5), total()) == (1, 30, 5)


@pytest.mark.parametrize(
    "other",
    [
        {"given": 31},
        {"made": 6},
        {"takes": 2},
        {"at": 1.5},
        {"name": "model.call"},
        {"gen_ai__usage__cache_read__input_tokens": 4},
        {"gen_ai__response__id": "r9"},
        {"gen_ai__input__messages": '[{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]'},
        {"gen_ai__request__model": "n"},
        {"error": "Timeout"},
    ],
    ids=str,
)
def test_anything_else_is_a_request(other: dict[str, Any]) -> None:
    assert used(call(1, 10, 2), call(4, 20, 3), total(**other))[0] == 3


def test_of_two_totals_and_of_nothing_counted_it_is_not_known() -> None:
    calls = (call(1, 10, 2), call(4, 20, 3))
    assert used(*calls, total(), total())[0] == 4
    bare = [
        chat(at, name=name, takes=takes, gen_ai__request__model="m")
        for at, name, takes in ((1, "model.call", 1), (0.5, "model.usage", 9))
    ]
    assert used(*bare)[0] == 2


def test_requests_of_other_agents_are_not_counted() -> None:
    inner = agent(span_id=f"{2:016x}", parent_span_id=f"{1:016x}", takes=30)
    calls = (call(1, 10, 2), call(4, 20, 3, inside=inner.span_id))
    assert used(inner, *calls, total())[0] == 3
