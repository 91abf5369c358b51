"""A request that holds others: one of its own that hands over to an agent, or only a span around them."""

from __future__ import annotations

from typing import Any

from made_runs import agent, asks, chat, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "How is Oslo?")
HANDED = said("user", "For context: the triage asked you.")
OVER, LOOK = asks("transfer", {"to": "orla"}, "c1"), asks("weather", {"city": "Oslo"}, "c2")


def answered(*spans: Span) -> list[str | None]:
    """The span of each model call."""
    return [call.span_id for call in rows(agent(), *spans).model_calls]


def test_a_request_that_hands_over_is_one_beside_those_of_the_agent_inside() -> None:
    outer = chat(1, [HI], OVER, takes=20, gen_ai__usage__input_tokens=100)
    inside = [
        tool(2, "transfer", result="done", gen_ai__tool__call__id="c1", inside=outer.span_id),
        chat(4, [HI, HANDED], LOOK, inside=outer.span_id, gen_ai__usage__input_tokens=10),
        chat(8, [HI, HANDED], "Snow.", inside=outer.span_id, gen_ai__usage__input_tokens=1),
    ]
    assert answered(outer, *inside) == [outer.span_id, inside[1].span_id, inside[2].span_id]
    found = rows(agent(), outer, *inside).runs[0]
    assert (found.input, found.output, found.input_tokens) == ("How is Oslo?", "Snow.", 111)
    # One agent inside, which answers at once.
    assert answered(outer, inside[0], inside[2]) == [outer.span_id, inside[2].span_id]


def test_what_only_repeats_the_calls_inside_is_around_them() -> None:
    outer = chat(1, [HI], LOOK, takes=20)
    inside = [
        chat(2, [HI], LOOK, inside=outer.span_id),
        tool(4, "weather", result="snow", gen_ai__tool__call__id="c2", inside=outer.span_id),
        chat(8, [HI, HANDED], "Snow.", inside=outer.span_id),
    ]
    assert answered(outer, *inside) == [inside[0].span_id, inside[2].span_id]


def test_a_call_that_nothing_executed_is_not_enough() -> None:
    outer = chat(1, [HI], OVER, takes=20)
    inside = [chat(at, [HI], "Snow.", inside=outer.span_id) for at in (2, 8)]
    assert answered(outer, *inside) == [span.span_id for span in inside]


def test_what_returns_no_answer_around_a_request_that_tells_all_is_completed_by_it() -> None:
    """The name of an object stands for the answer in what is around: the client's own span tells prompt, answer and id."""

    def told(outer: Span, **inner: Any) -> tuple[object, object]:
        span = chat(2, [HI], "Snow.", inside=outer.span_id, gen_ai__response__id="r1", **inner)
        (call,) = rows(agent(), outer, span).model_calls
        run = rows(agent(), outer, span).runs[0]
        assert call.span_id == outer.span_id
        return run.input, run.output

    def around(*given: Any, **more: Any) -> Span:
        outer = chat(1, [*given], "replies", takes=20, **more)
        outer.attributes = {key: value for key, value in outer.attributes.items() if value != "[]"}
        return outer

    assert told(around()) == ("How is Oslo?", "Snow.")
    # What tells of a request itself is not replaced.
    assert told(around(HI)) == ("How is Oslo?", "replies")
    assert told(around(gen_ai__request__model="m"))[1] == "replies"
    assert told(around(gen_ai__usage__output_tokens=3))[1] == "replies"


def test_a_request_that_was_tried_again_inside_has_what_is_told_around_it() -> None:
    def told(*inside: Span) -> list[tuple[str, str | None, str | None]]:
        run = rows(agent(), outer, *inside)
        return [(call.status, run.runs[0].input, run.runs[0].output) for call in run.model_calls]

    outer = chat(1, [HI], "Snow.", takes=20)
    refused = chat(2, inside=outer.span_id, error="429")
    answering = chat(5, inside=outer.span_id)
    assert told(refused, answering) == [
        ("error", "How is Oslo?", "Snow."),
        ("ok", "How is Oslo?", "Snow."),
    ]
    # Of two that answered it is not known which of them answered this.
    assert [output for *_, output in told(answering, chat(9, inside=outer.span_id))] == [None, None]
    # What an answer says itself is not what something around it says.
    other = chat(5, [HI], "Rain.", inside=outer.span_id)
    assert told(refused, other)[1] == ("ok", None, "Rain.")


def streamed(at: float, takes: float, response: str, ended: str, inside: str = "") -> Span:
    """A request of which no content is told, and whose stream is closed last."""
    more: dict[str, Any] = {"gen_ai__response__id": response, "gen_ai__response__finish_reasons": [ended]}
    return chat(at, takes=takes, inside=inside, gen_ai__usage__input_tokens=10, **more)


def test_requests_made_while_the_stream_of_the_one_before_is_open_are_apart() -> None:
    first = streamed(1, 20, "r1", "tool_calls")
    second = streamed(5, 15, "r2", "tool_calls", first.span_id)
    third = streamed(10, 8, "r3", "stop", second.span_id)
    ran = [tool(3, "search", inside=first.span_id), tool(7, "search", inside=second.span_id)]
    assert answered(first, second, third, *ran) == [first.span_id, second.span_id, third.span_id]
    assert rows(agent(), first, second, third, *ran).runs[0].input_tokens == 30
    # Without what ran in between, with one id, or where the outer one ended for no tool it may be one request.
    assert answered(first, second, third, ran[1]) == [first.span_id, third.span_id]
    for outer in (streamed(1, 20, "r2", "tool_calls"), streamed(1, 20, "r1", "stop")):
        inner = streamed(5, 15, "r2", "stop", outer.span_id)
        assert answered(outer, inner, tool(3, "search", inside=outer.span_id)) == [outer.span_id]


def test_a_span_around_a_request_that_holds_others_is_that_request() -> None:
    outermost = chat(1, [HI], OVER, takes=30)
    outer = chat(1.5, [HI], OVER, takes=20, inside=outermost.span_id, gen_ai__usage__input_tokens=100)
    over = tool(2, "transfer", result="done", gen_ai__tool__call__id="c1", inside=outer.span_id)
    last = chat(8, [HI, HANDED], "Snow.", inside=outer.span_id, gen_ai__usage__input_tokens=1)
    assert answered(outermost, outer, over, last) == [outermost.span_id, last.span_id]
    assert rows(agent(), outermost, outer, over, last).runs[0].input_tokens == 101


def test_a_function_around_what_is_around_several_requests_is_no_request_either() -> None:
    """As where one that returns a text calls one that returns a list of answers, and both name the model."""
    outer = chat(1, (), "Snow.", takes=30, gen_ai__request__model="m")
    inner = chat(2, (), LOOK, "Snow.", takes=20, inside=outer.span_id, gen_ai__usage__input_tokens=110)
    requests = [
        chat(3, [HI], LOOK, inside=inner.span_id, gen_ai__usage__input_tokens=10, gen_ai__response__id="r1"),
        tool(5, "weather", result="snow", gen_ai__tool__call__id="c2", inside=inner.span_id),
        chat(
            8, [HI], "Snow.", inside=inner.span_id, gen_ai__usage__input_tokens=100, gen_ai__response__id="r2"
        ),
    ]
    assert answered(outer, inner, *requests) == [requests[0].span_id, requests[2].span_id]
    assert rows(agent(), outer, inner, *requests).runs[0].input_tokens == 110
