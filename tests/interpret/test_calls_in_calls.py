"""Spans that all say they are model calls, one inside the other: around requests, of a request, of a piece of its answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from made_spans import make_span
from recordings.record.pure_views import views_of_spans
from spans import read_runs
from weather_question import ANSWER, ASKED, CALLED, QUESTION, RETURNED, SAID, TOLD, require_whole

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Span

SECOND = 10**9
USED = {"input": (10, 20), "output": (2, 4)}


def changed(span: Span, **told: object) -> Span:
    """Return a span with other attributes, `__` for a point; one that is None is left out."""
    named = {key.replace("__", "."): value for key, value in told.items()}
    attributes = {key: value for key, value in {**span.attributes, **named}.items() if value is not None}
    return replace(span, attributes=attributes)


def tell(name: str, kind: str, begun: float, ended: float, parent: Span | None = None, **told: Any) -> Span:
    """Return a span with times in seconds; `told` holds its attributes, `__` for a point, JSON where it is not a text."""
    attributes: dict[str, object] = {"openinference.span.kind": kind}
    for key, value in told.items():
        is_plain = isinstance(value, str | int)
        attributes[key.replace("__", ".")] = value if is_plain else json.dumps(value)
    times = {"started_at": int(begun * SECOND), "ended_at": int(ended * SECOND)}
    above = {"parent_span_id": parent.span_id} if parent is not None else {}
    return make_span(attributes, name, **times, **above)


def response(place: int, answer: dict[str, Any]) -> dict[str, Any]:
    """Return a response of a model's API, in a copy that a program keeps."""
    body = {
        "id": f"r{place}",
        "object": "chat.completion",
        "model": "m-1",
        "choices": [{"index": 0, "message": answer}],
        "usage": {"prompt_tokens": USED["input"][place], "completion_tokens": USED["output"][place]},
    }
    return {"runId": "a1", "body": json.dumps(body)}


def nested(**around: Any) -> list[Span]:
    """Return a run of two requests, inside a span of the model for both, and with a span for each piece of an answer."""
    agent = tell("agent", "AGENT", 1, 9, agent__name="orla", input__value=ASKED[1:], output__value=ANSWER)
    outer = tell("chat", "LLM", 2, 8, agent, input__value=ASKED, output__value=[SAID], **around)
    one = tell("step", "LLM", 3, 4, outer, input__value=ASKED, output__value=CALLED)
    tool = tell("get_weather", "TOOL", 5, 5.5, outer, tool__name="get_weather", tool_call__id="c1")
    tool = changed(tool, input__value='{"city": "Oslo"}', output__value=json.dumps(RETURNED))
    two = tell("step", "LLM", 6, 7, outer, input__value=TOLD, output__value=SAID)
    pieces = [
        tell("chunk", "LLM", 3.5, 3.6, one, output__value=CALLED),
        tell("chunk", "LLM", 3.7, 3.8, one),
        tell("chunk", "LLM", 6.5, 6.6, two, output__value={"text": ANSWER[:5]}),
        tell("chunk", "LLM", 6.7, 6.8, two, output__value={"text": ANSWER[5:]}),
    ]
    return [agent, outer, one, tool, two, *pieces]


def with_copies(spans: list[Span]) -> list[Span]:
    copies = iter([response(0, CALLED), response(1, SAID)])
    return [
        changed(span, metadata=json.dumps(next(copies))) if span.name == "step" else span for span in spans
    ]


def rows(spans: list[Span]) -> Rows:
    (run,) = read_runs(spans)
    return rows_of(run, "default", 1, None)


def listed(spans: list[Span]) -> set[tuple[str, str]]:
    return {(problem.field, problem.raw) for problem in rows(spans).problems}


def test_pieces_of_answers_are_no_calls_and_copies_of_responses_complete_those() -> None:
    spans = with_copies(nested(llm__invocation_parameters={"model": "m-1"}, llm__model_name="m-1"))
    require_whole(spans)
    assert listed(spans) == set()


def test_what_only_the_span_around_tells_is_of_the_run_and_listed() -> None:
    around: dict[str, Any] = {
        "llm__model_name": "m-1",
        "llm__token_count__prompt": 30,
        "llm__token_count__completion": 6,
    }
    views = views_of_spans(nested(**around))
    (run,) = views.runs
    assert (run["input_tokens"], run["output_tokens"]) == (30, 6)
    assert [call["response_model"] for call in views.model_calls] == [None, None]
    assert [(each.input_tokens, each.output_tokens) for each in rows(nested(**around)).model_calls] == [
        (None, None)
    ] * 2
    assert {("input_tokens", "30"), ("request_model", "m-1")} <= listed(nested(**around))


def test_a_copy_completes_a_call_under_any_name() -> None:
    spans = nested()
    for place, (at, said) in enumerate(((2, CALLED), (4, SAID))):
        spans[at] = changed(spans[at], acme__extra__body=response(place, said)["body"])
    assert [call["response_model"] for call in views_of_spans(spans).model_calls] == ["m-1", "m-1"]


def test_what_is_counted_around_requests_is_not_of_the_one_whose_id_is_told_there() -> None:
    counts = {"llm__token_count__prompt": 30, "llm__token_count__completion": 6}
    around = {"gen_ai__response__id": "r1", "llm__model_name": "m-1", **counts}
    calls = rows(with_copies(nested(**around))).model_calls
    assert [(call.input_tokens, call.output_tokens) for call in calls] == [(10, 2), (20, 4)]
    # It counts only what that one does not.
    alone = with_copies(nested(**around))
    alone[4] = changed(alone[4], metadata=None, gen_ai__response__id="r1")
    assert [call.output_tokens for call in rows(alone).model_calls] != [2, 4]


def test_a_version_around_what_was_asked_for_without_it_answered() -> None:
    def names(status: str = "ok") -> list[tuple[str | None, str | None]]:
        agent = tell("agent", "AGENT", 1, 9, agent__name="orla", input__value=QUESTION)
        one = tell("model", "LLM", 2, 4, agent, input__value=ASKED, output__value=SAID, model="m-2026-01-02")
        one = replace(one, status=status)
        two = tell("client", "LLM", 2.5, 3.5, one, gen_ai__request__model="m")
        return [(call.request_model, call.response_model) for call in rows([agent, one, two]).model_calls]

    assert names() == [("m", "m-2026-01-02")]
    assert names("error") == [("m", None)]


def test_what_began_after_an_answer_is_another_request_wherever_it_hangs() -> None:
    def told(begun: float, **more: Any) -> list[str]:
        agent = tell("agent", "AGENT", 1, 9, agent__name="orla", input__value=QUESTION)
        one = tell("model", "LLM", 2, 3, agent, input__value=ASKED, output__value=CALLED, **more)
        two = tell("model", "LLM", begun, begun + 0.5, one, input__value=TOLD)
        two = replace(two, status="error", status_message="too long")
        return [call["status"] for call in views_of_spans([agent, one, two]).model_calls]

    assert told(4, gen_ai__response__id="r0") == ["ok", "error"]
    assert told(2.2, gen_ai__response__id="r0") == ["error"]  # it may be the same
    assert told(4) == ["error"]  # the stream of an answer may have begun late


def test_a_failure_around_requests_is_not_of_the_one_whose_id_is_told_there() -> None:
    spans = with_copies(nested(gen_ai__response__id="r0", llm__model_name="m-1"))
    spans[1] = replace(spans[1], status="error", status_message="too long")
    assert [call["status"] for call in views_of_spans(spans).model_calls] == ["ok", "ok"]


def test_a_copy_of_another_response_completes_nothing() -> None:
    spans = nested()
    other = {"role": "assistant", "content": "It is 20 in Rome."}
    spans[4] = changed(spans[4], metadata=json.dumps(response(1, other)))
    assert [call["response_model"] for call in views_of_spans(spans).model_calls] == [None, None]


def test_pieces_that_say_what_the_request_around_them_does_not_are_calls() -> None:
    spans = nested()
    spans[7] = changed(spans[7], output__value=json.dumps({"text": "Something else."}))
    assert len(views_of_spans(spans).model_calls) > 2


def test_answers_after_tools_are_no_pieces() -> None:
    agent = tell("agent", "AGENT", 1, 9, agent__name="orla", input__value=QUESTION, output__value=ANSWER)
    outer = tell("chat", "LLM", 2, 8, agent, input__value=ASKED, output__value={**CALLED, "content": ANSWER})
    one = tell("answer", "LLM", 3, 4, outer, output__value=CALLED)
    tool = tell("get_weather", "TOOL", 5, 5.5, outer, tool__name="get_weather", tool_call__id="c1")
    two = tell("answer", "LLM", 6, 7, outer, output__value={"text": ANSWER})
    assert len(views_of_spans([agent, outer, one, tool, two]).model_calls) == 2


def refused(**told: object) -> list[Span]:
    """Return a run whose second request was refused: its program ended it as if it had been answered with nothing."""
    agent, outer, one, tool, two, *pieces = with_copies(nested(llm__model_name="m-1"))
    agent = changed(replace(agent, status="error", status_message="too long"), output__value=None)
    two = changed(two, metadata=None, output__value=json.dumps({"text": "", "tool_calls": []}), **told)
    outer = changed(outer, output__value=json.dumps([{"role": "assistant", "content": ""}]))
    return [agent, outer, one, tool, two, *pieces[:2]]


def test_a_request_answered_with_nothing_before_its_agent_failed_was_refused() -> None:
    spans = refused()
    views = views_of_spans(spans)
    assert [call["status"] for call in views.model_calls] == ["ok", "error"]
    assert [call["request_model"] for call in views.model_calls] == ["m-1", "m-1"]
    assert views.runs[0]["outcome"] == "error"


def test_so_was_it_where_the_span_around_all_requests_failed_as_well() -> None:
    agent, outer, *inside = refused()
    ended = {"gen_ai.response.finish_reasons": ["error"], "gen_ai.response.id": "of-the-program"}
    named = {"gen_ai.request.model": "m", "gen_ai.response.model": "m"}
    outer = replace(outer, attributes={**outer.attributes, **ended, **named, "llm.model_name": "m"})
    dated = {"metadata": str(inside[0].attributes["metadata"]).replace("m-1", "m-2026-01-02")}
    inside[0] = replace(inside[0], attributes={**inside[0].attributes, **dated})
    views = views_of_spans([agent, outer, *inside])
    told = [(call["status"], call["request_model"], call["response_model"]) for call in views.model_calls]
    assert told == [("ok", "m", "m-2026-01-02"), ("error", "m", None)]


def test_an_empty_answer_that_was_counted_is_an_answer() -> None:
    views = views_of_spans(refused(llm__token_count__prompt=20, llm__token_count__completion=0))
    assert [call["status"] for call in views.model_calls] == ["ok", "ok"]


def with_tools_inside() -> list[Span]:
    """Return a run whose requests end after the tools they asked for, which have no ids; prompts tell calls by marks."""
    agent, outer, one, _, two, *_ = nested()
    one = replace(one, name="step: 0", ended_at=6 * SECOND)
    tool = tell(
        "tool: 'get_weather'", "TOOL", 5, 5.5, one, input__value={"city": "Oslo"}, output__value=RETURNED
    )
    called, result = {"role": "assistant", "content": "[tool: get_weather]"}, "[tool-result: get_weather]"
    marked = json.dumps([*ASKED, called, {"role": "tool", "content": result}])
    return [agent, outer, one, tool, changed(replace(two, name="step: 1"), input__value=marked)]


def test_tools_inside_of_a_request_were_asked_for_by_it() -> None:
    views = views_of_spans(with_tools_inside())
    (tool,) = views.tool_calls
    assert (tool["tool_name"], tool["tool_call_id"]) == ("get_weather", "c1")
    _, called, told = json.loads(views.model_calls[1]["input_messages"])
    assert (called["parts"][0]["id"], told["parts"][0]["response"]) == ("c1", RETURNED)
