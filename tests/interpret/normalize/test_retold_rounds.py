"""A response that holds its own history tells the requests before its last one, which its span is around as well."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, asks, rows, said
from recordings.record.pure_views import views_of_rows

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

QUESTION = "How are Oslo and Bergen?"
#: As Google's client writes them: who speaks is left out of the first, and ids of the results.
ASKED = {"parts": [{"text": QUESTION}]}
END = {"parts": [{"text": "Both are wet."}], "role": "model"}


def calls(*cities: str, **ids: str) -> dict[str, Any]:
    made = [{"name": "weather", "args": {"city": city}} for city in cities]
    named = [{"id": ids[call["args"]["city"]], **call} if ids else call for call in made]  # type: ignore[index]
    return {"parts": [{"function_call": call} for call in named], "role": "model"}


def results(*texts: str) -> dict[str, Any]:
    told = [{"name": "weather", "response": {"result": text}} for text in texts]
    return {"parts": [{"function_response": each} for each in told], "role": "user"}


ROUNDS = [calls("Oslo", "Bergen", Oslo="c1", Bergen="c2"), results("rain", "hail"), calls("Bodø", Bodø="c3")]
ROUNDS += [results("snow")]


def span(history: object, answer: dict[str, Any] = END, name: str = "history", **more: Any) -> Span:
    response = {"candidates": [{"content": answer, "finish_reason": "STOP", "index": 0}], name: history}
    told: dict[str, Any] = {
        "openinference__span__kind": "LLM",
        "llm__input_messages__0__message__role": "user",
        "llm__input_messages__0__message__content": QUESTION,
        "llm__model_name": "gemini-2.5-flash",
        "llm__token_count__prompt": 300,
        "llm__token_count__completion": 30,
        "output__value": json.dumps(response),
        **more,
    }
    told = {key: value for key, value in told.items() if value is not None}
    return act("GenerateContent", 1, takes=9, parent_span_id="", **told)


def answers(found: Rows) -> list[tuple[int, list[str]]]:
    """How many messages each request was given, and the kinds of the parts that it was answered with."""
    return [
        (
            len(json.loads(call["input_messages"])),
            [part["type"] for said in json.loads(call["output_messages"]) for part in said["parts"]],
        )
        for call in views_of_rows([found]).model_calls
    ]


@pytest.mark.parametrize("name", ["automatic_function_calling_history", "whatever"])
def test_a_response_tells_the_requests_before_its_last_one(name: str) -> None:
    found = rows(span([ASKED, *ROUNDS], name=name))
    assert answers(found) == [(1, ["tool_call", "tool_call"]), (3, ["tool_call"]), (5, ["text"])]
    told = [(row.tool_call_id, row.asked_by, row.status, row.step) for row in found.tool_calls]
    assert told == [("c1", 1, "ok", None), ("c2", 1, "ok", None), ("c3", 2, "ok", None)]
    assert [json.loads(row["result"]) for row in views_of_rows([found]).tool_calls] == [
        {"result": text} for text in ("rain", "hail", "snow")
    ]
    assert (found.runs[0].input, found.runs[0].output) == (QUESTION, "Both are wet.")


def test_a_history_of_a_response_that_says_who_asked_is_no_prompt() -> None:
    found = rows(span([{"role": "user", **ASKED}, *ROUNDS]))
    assert answers(found) == [(1, ["tool_call", "tool_call"]), (3, ["tool_call"]), (5, ["text"])]


def test_what_is_counted_is_of_the_last_request_where_the_response_is_that_of_the_api() -> None:
    found = rows(span([ASKED, *ROUNDS]))
    assert [call.input_tokens for call in found.model_calls] == [None, None, 300]
    assert found.runs[0].input_tokens is None  # what the others counted is on no record
    assert any("those before its last one are not known" in problem.reason for problem in found.problems)
    # An object of the client's own may hold a sum.
    own = {"output": {"role": "model", "text": "Both are wet."}, "history": [ASKED, *ROUNDS]}
    found = rows(span([], output__value=json.dumps(own)))
    assert [call.input_tokens for call in found.model_calls] == [None, None, None]
    assert found.runs[0].input_tokens == 300


def test_calls_and_results_without_ids_are_known_by_their_order() -> None:
    found = rows(span([ASKED, calls("Oslo"), results("rain"), calls("Bergen"), results("hail")]))
    assert [(row.asked_by, row.status) for row in found.tool_calls] == [(1, "ok"), (2, "ok")]
    assert len(found.model_calls) == 3


def test_the_last_answer_is_told_once_where_the_client_made_its_calls_and_might_not_ask_again() -> None:
    found = rows(span([ASKED, *ROUNDS], answer=ROUNDS[2]))
    assert answers(found) == [(1, ["tool_call", "tool_call"]), (3, ["tool_call"])]
    assert [(row.tool_call_id, row.status) for row in found.tool_calls] == [
        ("c1", "ok"),
        ("c2", "ok"),
        ("c3", "ok"),
    ]


def test_a_prompt_that_nobody_tells_begins_the_history() -> None:
    untold: dict[str, Any] = {
        f"llm__input_messages__0__message__{leaf}": None for leaf in ("role", "content")
    }
    assert [given for given, _ in answers(rows(span([ASKED, *ROUNDS], **untold)))] == [1, 3, 5]


@pytest.mark.parametrize(
    "history",
    [
        [],
        [ASKED],
        [{"parts": [{"text": "Another question"}]}, *ROUNDS],
        ROUNDS,
        [ASKED, *ROUNDS[:3]],
        [ASKED, ROUNDS[0], {"parts": [{"text": "And?"}], "role": "user"}, *ROUNDS[1:]],
        [ASKED, END, *ROUNDS],
        [ASKED, results("rain"), *ROUNDS],
        [ASKED, calls("Oslo"), results("rain", "hail")],
    ],
    ids=[
        "none",
        "the prompt alone",
        "another prompt",
        "no prompt",
        "no results at its end",
        "a user in between",
        "an answer without calls",
        "results that nobody asked for",
        "more results than calls",
    ],
)
def test_any_other_list_beside_an_answer_is_no_history_of_it(history: list[object]) -> None:
    assert len(rows(span(history)).model_calls) == 1


def request(at: float, asked: str, inside: Span, *answer: Any) -> Span:
    return act(
        "chat",
        at,
        parent_span_id=inside.span_id,
        gen_ai__operation__name="chat",
        gen_ai__request__model="gemini-2.5-flash",
        gen_ai__input__messages=json.dumps([said("user", asked)]),
        gen_ai__output__messages=json.dumps([said("assistant", *answer)]),
    )


def test_requests_with_spans_of_their_own_are_not_told_again() -> None:
    outer = span([ASKED, calls("Oslo", Oslo="c1"), results("rain")])
    first = request(2, QUESTION, outer, asks("weather", {"city": "Oslo"}, "c1"))
    last = request(5, QUESTION, outer, "Both are wet.")
    assert [kinds for _, kinds in answers(rows(outer, first, last))] == [["tool_call"], ["text"]]


def test_a_request_of_a_tool_is_another_one() -> None:
    outer = span([ASKED, calls("Oslo", Oslo="c1"), results("rain")])
    found = rows(outer, request(2, "Is it snow or rain?", outer, "Rain."))
    assert len(found.model_calls) == 3
    assert found.runs[0].output == "Both are wet."
