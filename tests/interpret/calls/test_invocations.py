"""An agent that is invoked again repeats only what it knows of."""

from __future__ import annotations

from typing import Any

from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

LOOK = said("user", "Look up Oslo")
ASKED = {"q": "Oslo"}
RAIN = {"forecast": "rain from the north", "degrees": 7}


def invoked(number: int, given: list[dict[str, object]], *, inside: str = "") -> list[Span]:
    """Return one invocation of a worker: it asks for a search, and ends when it knows the result."""
    at, span_id, call_id = number * 10, f"{number:016x}", f"call_{number}0123456789"
    more: dict[str, Any] = {"inside": span_id, "gen_ai__agent__name": "worker"}
    asked = asks("search", ASKED, call_id)
    return [
        act(
            "invoke_agent",
            at,
            takes=9,
            span_id=span_id,
            inside=inside or f"{1:016x}",
            gen_ai__agent__name="worker",
        ),
        chat(at + 1, given, asked, **more),
        tool(at + 3, "search", ASKED, RAIN, gen_ai__tool__call__id=call_id, **more),
        chat(
            at + 5,
            [*given, said("assistant", asked), returned(call_id, RAIN)],
            f"Rain {number}",
            **more,
        ),
    ]


def repeated(found: Rows) -> tuple[list[int], list[str]]:
    return [loop.repeats for loop in found.loops], [finding.rule for finding in found.findings]


def test_what_three_invocations_ask_once_each_is_no_loop() -> None:
    assert repeated(rows(agent(), *[span for n in (2, 3, 4) for span in invoked(n, [LOOK])])) == ([], [])


def test_an_invocation_that_is_told_what_was_done_before_goes_on_from_it() -> None:
    told: list[dict[str, object]] = [LOOK]
    spans: list[Span] = []
    for number in (2, 3, 4):
        spans += invoked(number, told)
        asked = asks("search", ASKED, f"call_{number}0123456789")
        told = [*told, said("assistant", asked), returned(f"call_{number}0123456789", RAIN)]
        told = [*told, said("assistant", f"Rain {number}"), LOOK]
    assert repeated(rows(agent(), *spans)) == ([3], ["exact_loop"])


def test_spans_of_one_agent_within_each_other_are_one_invocation() -> None:
    whole = act("invoke_agent", 10, takes=80, span_id=f"{9:016x}", gen_ai__agent__name="worker")
    rounds = [span for n in (2, 3, 4) for span in invoked(n, [LOOK], inside=whole.span_id)]
    assert repeated(rows(agent(), whole, *rounds)) == ([3], ["exact_loop"])


def test_an_agent_that_calls_itself_by_a_tool_is_invoked_anew() -> None:
    whole = act("invoke_agent", 10, takes=80, span_id=f"{9:016x}", gen_ai__agent__name="worker")
    more: dict[str, Any] = {"inside": whole.span_id, "takes": 10, "gen_ai__agent__name": "worker"}
    calls = [tool(n * 10, "ask_worker", {"n": n}, span_id=f"{20 + n:016x}", **more) for n in (2, 3, 4)]
    rounds = [span for n in (2, 3, 4) for span in invoked(n, [LOOK], inside=f"{20 + n:016x}")]
    assert repeated(rows(agent(), whole, *calls, *rounds)) == ([], [])


def test_only_the_model_calls_of_a_loop_s_own_invocation_are_wasted() -> None:
    """Of two workers at the same time one searches in circles; the other asked the same once, in between."""
    first = invoked(2, [LOOK])
    told = [LOOK]
    first[0].ended_at += 60 * 10**9
    for number in (3, 4):
        asked = asks("search", ASKED, f"call_{number}0123456789")
        more: dict[str, Any] = {"inside": first[0].span_id, "gen_ai__agent__name": "worker"}
        told = [*told, said("assistant", "Again")]
        first += [
            chat(number * 10 + 1, told, asked, **more),
            tool(number * 10 + 3, "search", ASKED, RAIN, gen_ai__tool__call__id=asked["id"], **more),
        ]
    other = invoked(8, [said("user", "And Oslo?")])
    for span in other:
        span.started_at -= 54 * 10**9
        span.ended_at -= 54 * 10**9
    found = rows(agent(), *first, *other)
    wasted = {row.model_call for row in found.costs if row.wasted == "loop"}
    assert [loop.repeats for loop in found.loops] == [3]
    by_id = {call.tool_call_id: call.asked_by for call in found.tool_calls}
    assert wasted == {by_id["call_30123456789"], by_id["call_40123456789"]}
