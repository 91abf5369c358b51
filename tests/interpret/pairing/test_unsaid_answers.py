"""Model calls that show by their tokens alone, and what they asked for by the tools that ran inside their steps."""

from __future__ import annotations

from typing import Any

from made_spans import chat_span, make_span, text
from spans import read_run

from retrospan.ingest.interpret.spans.span import Span


def _counts(given: int, answered: int, inside: Span) -> Span:
    return make_span(
        {"gen_ai.usage.input_tokens": given, "gen_ai.usage.output_tokens": answered},
        "handle_response",
        parent_span_id=inside.span_id,
    )


def _tool(call_id: str, inside: Span, **others: object) -> Span:
    return make_span(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "look",
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": '{"q": "x"}',
            "gen_ai.tool.call.result": "1",
            **others,
        },
        parent_span_id=inside.span_id,
    )


def _turn() -> tuple[Span, Span, Span]:
    turn = make_span({"model": "m-1"}, "turn")
    return (
        turn,
        make_span({}, "sampling", parent_span_id=turn.span_id),
        make_span({}, "sampling", parent_span_id=turn.span_id),
    )


def _calls(*spans: Span) -> list[Any]:
    """Return model, tokens and the ids that each call asked for."""
    return [
        (
            call.span.request_model,
            call.span.tokens.input,
            [part.get("id") for message in call.span.output for part in message["parts"]],
        )
        for call in read_run("r", spans).calls.models
    ]


def test_what_counts_tokens_is_a_call_and_asked_for_what_ran_inside_its_step() -> None:
    turn, first, last = _turn()
    spans = [turn, first, _tool("c1", first), _tool("c2", first), _counts(10, 2, first)]
    spans += [last, _counts(20, 4, last)]
    assert _calls(*spans) == [("m-1", 10, ["c1", "c2"]), ("m-1", 20, [])]
    run = read_run("r", spans)
    assert [(tool.call_id, tool.status) for tool in run.calls.tools] == [("c1", "ok"), ("c2", "ok")]
    assert run.problems == []


def test_a_tool_in_the_step_of_several_calls_was_asked_for_by_nobody_that_is_known() -> None:
    turn, first, last = _turn()
    spans = [turn, first, _counts(10, 2, first), _tool("c1", turn), last, _counts(20, 4, last)]
    assert [asked for _, _, asked in _calls(*spans)] == [[], []]


def test_an_id_that_ran_twice_tells_no_call() -> None:
    turn, first, last = _turn()
    spans = [turn, first, _counts(10, 2, first), _tool("c1", first), last, _counts(20, 4, last)]
    assert [asked for _, _, asked in _calls(*spans, _tool("c1", last))] == [[], []]


def test_what_tells_prompts_has_not_left_out_its_answers() -> None:
    turn, first, _ = _turn()
    call = chat_span([text("user", "Hi")], [], parent_span_id=first.span_id)
    (model,) = read_run("r", [turn, first, call, _tool("c1", first)]).calls.models
    assert model.span.output == []


def test_counts_beside_a_call_that_is_told_are_a_sum() -> None:
    turn, first, last = _turn()
    call = chat_span([text("user", "Hi")], [text("assistant", "Hello.")], parent_span_id=last.span_id)
    assert len(_calls(turn, first, _counts(10, 2, first), last, call)) == 1


def test_an_agent_that_counts_is_no_call() -> None:
    span = make_span(
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 2,
        }
    )
    assert _calls(span) == []


def test_counts_of_nothing_are_no_call() -> None:
    turn, first, _ = _turn()
    assert _calls(turn, first, _counts(0, 0, first), _tool("c1", first)) == []
