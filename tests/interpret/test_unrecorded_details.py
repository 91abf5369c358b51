"""What rules for forms that nobody recorded yet read, and what is nearly the same and means something else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from made_runs import RUN, agent, chat, rows
from made_spans import make_span
from recordings.record.pure_views import views_of_spans
from weather_question import (
    ANSWER,
    ASKED,
    CALLED,
    GIVEN,
    QUESTION,
    RETURNED,
    SAID,
    SYSTEM,
    TOLD,
    model_span,
)
from weather_runs import RESULT, run_of

from retrospan.ingest.interpret.normalize.same_tool import same_arguments
from retrospan.ingest.interpret.spans.exported_fields import with_plain_names


def test_an_object_with_capitals_that_is_no_message_stays_as_it_is() -> None:
    row = {"Role": "admin", "Name": "Ada"}
    assert with_plain_names(row) is row
    assert with_plain_names({"Rows": [row]}) == {"Rows": [row]}
    message: dict[str, object] = {"Role": "user", "Content": "Hi", "Arguments": {"City": "Oslo"}}
    assert with_plain_names([message]) == [
        {"role": "user", "content": "Hi", "arguments": {"City": "Oslo"}},
    ]


def test_arguments_by_place_are_those_asked_for_only_if_all_of_them_are() -> None:
    asked = {"city": "Oslo", "days": 2}
    assert same_arguments(["Oslo", 2], asked)
    assert same_arguments({"args": ["Oslo"], "kwargs": {"days": 2}}, asked)
    assert not same_arguments({"args": ["Oslo"], "kwargs": {}}, asked)
    assert not same_arguments(["Oslo", 3], asked)


def test_what_a_function_was_given_may_be_told_line_by_line() -> None:
    asked = {"city": "Oslo", "days": 2}
    assert same_arguments(["city: Oslo", "days: 2"], asked)
    assert same_arguments(["days: 2", "city: Oslo"], asked)
    for other in (["city: Oslo"], ["city: Oslo", "days: 3"], ["city: Oslo", "days: 2", "days: 2"]):
        assert not same_arguments(other, asked)


def test_arguments_may_be_told_each_as_a_text() -> None:
    asked = {"city": "Oslo", "days": 2, "check": True, "at": [1, None]}
    for text in ("[1, None]", "[1,null]"):
        assert same_arguments({"city": "Oslo", "days": "2", "check": "True", "at": text}, asked)
    for days in ("3", "two", 3, ["2"]):
        assert not same_arguments({**asked, "days": days}, asked)
    assert not same_arguments({"days": "2"}, asked)
    assert not same_arguments({"days": 2}, {"days": "2"}), "what was asked as a text is one"


def test_what_python_bound_by_name_is_told_among_options_of_the_frameworks() -> None:
    asked = {"city": "Oslo", "days": 2}
    nothings: tuple[object, ...] = ([], {})
    for nothing in nothings:
        assert same_arguments({"args": nothing, **asked, "check": True}, asked)
    for other in (
        {**asked, "check": True},
        {"args": ["Oslo"], **asked},
        {"args": [], "city": "Oslo", "days": 3},
        {"args": [], "city": "Oslo"},
    ):
        assert not same_arguments(other, asked)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"args": ["How is Oslo?"], "reset": True}, "How is Oslo?"),
        ({"args": ["How is Oslo?"], "reset": {}, "limit": 3}, "How is Oslo?"),
        ({"args": ["orders"], "query": "How is Oslo?"}, "How is Oslo?"),
        ({"args": ["orders"], "rest": "How is Oslo?"}, None),
        ({"args": ["orders", "How is Oslo?"], "reset": True}, None),
    ],
)
def test_the_only_text_among_the_arguments_of_an_agent_is_what_it_was_asked(
    given: object, asked: str | None
) -> None:
    root = agent(input__value=json.dumps(given))
    assert rows(root, chat(1, (), "Snow.")).runs[0].input == asked


@pytest.mark.parametrize(
    ("told", "result"),
    [({}, None), ({"content": None}, "null"), ({"content": []}, "[]"), ({"content": ""}, "")],
)
def test_a_result_of_which_nothing_is_told_is_unknown(told: dict[str, object], result: str | None) -> None:
    asks_for = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    prompt = [
        {"role": "user", "content": "How is Oslo?"},
        {"role": "assistant", "content": None, "tool_calls": [asks_for]},
        {"role": "tool", "tool_call_id": "c1", "status": "success", **told},
    ]
    first = chat(1, input__value=json.dumps(prompt[:1]), output__value=json.dumps(prompt[1]))
    last = chat(5, (), "Snow.", input__value=json.dumps(prompt))
    (call,) = rows(agent(), first, last).tool_calls
    assert (call.status, call.result, call.result_source) == (
        "ok",
        result,
        "message" if result is not None else None,
    )


def doubts(prompt: str, **more: Any) -> list[str]:
    """Return why the input of a run is in doubt whose only request was given a text."""
    asking = chat(1, [], ANSWER, gen_ai__prompt=prompt, **more)
    return [problem.reason for problem in rows(agent(), asking).problems if problem.field == "input"]


def test_a_prompt_that_is_one_text_of_several_lines_is_doubtful() -> None:
    (reason,) = doubts(f"{SYSTEM}\n{QUESTION}")
    assert "who said which is not told" in reason
    assert doubts(QUESTION) == []
    assert doubts(f"{QUESTION}\nAnd in Bergen?", gen_ai__system_instructions=SYSTEM) == []


def test_a_run_that_tells_of_no_act_and_returned_what_it_was_given_says_so() -> None:
    said_again = json.dumps({"messages": [{"role": "user", "content": QUESTION}]})
    given = {"langsmith.span.kind": "chain", "gen_ai.prompt": said_again}

    def doubted(returned: str) -> list[tuple[str, str | None]]:
        root = make_span({**given, "gen_ai.completion": returned}, "orla", trace_id=RUN)
        found = rows(root)
        assert [run.input for run in found.runs] == [QUESTION]
        return [(problem.field, problem.raw) for problem in found.problems]

    assert doubted(said_again) == [("model_calls", "orla")]
    assert doubted(json.dumps({"messages": []})) == []


def test_one_request_after_the_other_by_a_clock_of_whole_milliseconds_is_one_turn() -> None:
    asked, told = (
        model_span(
            {"gen_ai.input.messages": json.dumps(prompt), "gen_ai.output.messages": json.dumps([answer])}
        )
        for prompt, answer in ((ASKED, CALLED), (TOLD, SAID))
    )
    begun = 10**12
    first = replace(asked, trace_id="1" * 32, started_at=begun, ended_at=begun + 4_142_350)

    def runs(started_at: int) -> int:
        last = replace(told, trace_id="2" * 32, started_at=started_at, ended_at=begun + 10**7)
        return len(views_of_spans([first, last]).runs)

    assert runs(begun + 5_000_000) == runs(begun + 4_000_000) == 1
    assert runs(begun + 4_000_001) == runs(begun + 3_000_000) == 2


def test_a_transcript_that_an_agent_returns_completes_what_its_requests_leave_out() -> None:
    texts = [{"role": "user", "parts": [{"type": "text", "content": text}]} for text in (QUESTION, RESULT)]
    answers = [{"role": "assistant", "parts": [{"type": "text", "content": text}]} for text in ("", ANSWER)]
    calls = [
        model_span(
            {
                "gen_ai.input.messages": json.dumps(prompt),
                "gen_ai.output.messages": json.dumps([answer]),
                "gen_ai.response.finish_reasons": [why],
            }
        )
        for prompt, answer, why in zip(
            (texts[:1], [texts[0], texts[1]]), answers, ("tool_calls", "stop"), strict=True
        )
    ]

    def tools(transcript: object) -> list[tuple[object, object]]:
        kept = json.dumps({"data": {"state": {"memory": {"messages": transcript}}}})
        known = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "orla"}
        views = views_of_spans(run_of(*calls, **known, **{"x.entity.output": kept}))
        return [(call["tool_call_id"], call["result"]) for call in views.tool_calls]

    said_in_all = [*TOLD[1:], SAID]
    assert [(call_id, json.loads(str(result))) for call_id, result in tools(said_in_all)] == [
        ("c1", RETURNED)
    ]
    # Of another conversation nothing is taken.
    assert tools([{"role": "user", "content": "Weather in Bergen?"}, *said_in_all[1:]]) == []


def test_calls_that_only_a_printed_transcript_tells_are_those_of_the_run() -> None:
    printed = f"[TaskOutput(raw={ANSWER!r}, format=<Format.RAW: 'raw'>, messages={[*TOLD, SAID]!r})]"
    known = {"x.span.kind": "workflow", "crew.human_input": "False", "crew.tasks_output": printed}
    inner = make_span({"x.span.kind": "agent", "gen_ai.request.model": "m-1"}, "orla.agent")
    views = views_of_spans(run_of(inner, **known))
    assert [call["request_model"] for call in views.model_calls] == ["m-1", "m-1"]
    assert [call["tool_call_id"] for call in views.tool_calls] == ["c1"]
    assert [(run["input"], run["output"]) for run in views.runs] == [(QUESTION, ANSWER)]


def test_a_call_that_prompts_retell_under_a_made_up_id_has_that_of_the_answer() -> None:
    made_up = "1f2dcefe-5d7d-43ec-900a-90b2a157e31d"
    retold = json.loads(json.dumps(TOLD).replace('"c1"', f'"{made_up}"'))
    kept = {"custom": {"choices": [{"message": CALLED, "finish_reason": "stop"}]}}
    request = {"name": "get_weather", "input": GIVEN}
    first = {
        **kept,
        "message": {"role": "model", "content": [{"toolRequest": request}]},
        "finishReason": "stop",
    }
    calls = [
        make_span(
            {
                "x:input": json.dumps({"messages": prompt}),
                "x:output": json.dumps(answer),
                "x:name": "acme/m-1",
                "x:span:type": "model",
            },
            "acme/m-1",
        )
        for prompt, answer in (
            (ASKED, first),
            (retold, {"message": {"role": "model", "content": ANSWER}, "finishReason": "stop"}),
        )
    ]
    views = views_of_spans(run_of(*calls))
    assert [call["tool_call_id"] for call in views.tool_calls] == ["c1"]
    assert [call["request_model"] for call in views.model_calls] == ["m-1", "m-1"]
    assert made_up not in str(views.model_calls[1]["input_messages"])


def test_the_first_thing_by_place_may_be_the_arguments() -> None:
    about = {"toolCallId": "c1", "messages": []}
    assert same_arguments({"args": [GIVEN, about]}, GIVEN)
    assert same_arguments({"args": [json.dumps(GIVEN)]}, GIVEN)
    assert not same_arguments({"args": [about, GIVEN]}, {"city": "Bergen"})


def test_a_tool_has_the_name_in_the_message_that_it_returned() -> None:
    message = {"content": RESULT, "tool_call_id": "c1", "name": "get_weather"}
    returned = json.dumps({"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": message})
    known = {"gen_ai.operation.name": "execute_tool", "x.input": json.dumps({"args": [json.dumps(GIVEN)]})}
    (call,) = views_of_spans([make_span({**known, "x.output": returned}, "execute_tool AnyTool")]).tool_calls
    assert (call["tool_name"], call["tool_call_id"]) == ("get_weather", "c1")
    assert (json.loads(call["arguments"]), json.loads(call["result"])) == (GIVEN, RETURNED)


def test_instructions_in_blocks_are_their_texts() -> None:
    blocks = json.dumps([{"type": "text", "text": SYSTEM}])
    prompt = [{"role": role, "parts": [{"type": "text", "content": blocks}]} for role in ("system", "user")]
    (call,) = views_of_spans([model_span({"gen_ai.input.messages": json.dumps(prompt)})]).model_calls
    assert json.loads(call["system_instructions"]) == [{"type": "text", "content": SYSTEM}]
    # What a person sends is what it is.
    assert blocks in json.loads(call["input_messages"])[0]["parts"][0]["content"]
