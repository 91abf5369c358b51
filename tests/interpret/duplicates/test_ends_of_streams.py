"""A request whose span ends when its stream begins, and an instant that tells what was answered."""

from __future__ import annotations

from typing import Any

from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Is it cold?")
LOOK = asks("look", {"city": "Oslo"}, "c1")
TOLD = [HI, said("assistant", LOOK), returned("c1", "-3")]
NAMED = {"gen_ai__request__model": "m", "gen_ai__response__model": "m"}


def request(at: float, given: list[dict[str, object]], **more: Any) -> Span:
    return chat(at, given, takes=0.5, **{**NAMED, **more})


def end(at: float, given: list[dict[str, object]], *answer: Any, **more: Any) -> Span:
    counted = {"gen_ai__usage__input_tokens": 10, "gen_ai__usage__output_tokens": 2}
    answered = {"gen_ai__response__model": "m-2026-01-02", "gen_ai__response__id": f"r{at}"}
    return chat(at, given, *answer, takes=0, **{**NAMED, **counted, **answered, **more})


def calls(*spans: Span) -> list[tuple[str | None, int | None]]:
    found = rows(agent(), *spans).model_calls
    return [(call.response_model, call.input_tokens) for call in found]


ANSWERED, OPEN = ("m-2026-01-02", 10), ("m", None)


def test_a_request_and_the_end_of_its_stream_are_one_call() -> None:
    ran = tool(3, "look", {"city": "Oslo"}, "-3", gen_ai__tool__call__id="c1")
    spans = [request(1, [HI]), end(2, [HI], LOOK), ran, request(5, TOLD), end(6, TOLD, "It is.")]
    assert calls(*spans) == [ANSWERED, ANSWERED]
    (run,) = rows(agent(), *spans).runs
    assert (run.input_tokens, run.output_tokens, run.output) == (20, 4, "It is.")


def test_of_equal_requests_it_is_the_last_that_was_not_answered() -> None:
    given_up = request(0.2, [HI])
    assert calls(given_up, request(1, [HI]), end(2, [HI], "It is.")) == [OPEN, ANSWERED]
    assert calls(request(1, [HI]), end(2, [HI], "It is."), request(5, [HI]), end(6, [HI], "Yes.")) == [
        ANSWERED,
        ANSWERED,
    ]


def test_what_repeats_no_request_is_a_call_of_its_own() -> None:
    answer = end(2, [HI], "It is.")
    assert len(calls(answer)) == 1
    for other in (
        request(1, TOLD),  # another prompt, model or place; an answer of its own; a failure; later
        request(1, [HI], gen_ai__request__model="n"),
        request(1, [HI], inside="a" * 16),
        request(1, [HI], gen_ai__response__id="r1"),
        request(1, [HI], error="Refused"),
        request(1.8, [HI]),
    ):
        assert len(calls(other, answer)) == 2
    assert len(calls(request(1, [HI]), chat(2, [HI], "It is.", **NAMED))) == 2  # not an instant
