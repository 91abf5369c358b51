"""What other spans of a run say of a call whose own span does not: its prompt, its model, its text, how the run ended."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

ASKED = said("user", "How is Oslo?")
OSLO = {"city": "Oslo"}
SNOW = {"sky": "snow"}
CALL = asks("weather", OSLO, "c1")
FAILED: dict[str, Any] = {"error": "BadRequest", "status": "error"}


def prompt(found: Rows, call: int = 2) -> tuple[str, list[object]]:
    """How the input of a model call is known, and the input."""
    texts = {value.number: json.loads(value.json) for value in found.values if value.json}
    row = found.model_calls[call - 1]
    return row.history, [texts[number] for number in row.input_values]


def executed(at: float = 3, result: object = SNOW, **more: Any) -> Span:
    return tool(at, "weather", OSLO, result, gen_ai__tool__call__id="c1", **more)


def test_a_request_that_failed_without_a_word_had_been_given_what_its_agent_had_come_to() -> None:
    found = rows(agent(), chat(1, [ASKED], CALL), executed(), chat(5, **FAILED))
    assert prompt(found) == ("inferred", [ASKED, said("assistant", CALL), returned("c1", SNOW)])


@pytest.mark.parametrize(
    "between",
    [
        [],  # the tool may still have been at work
        [executed(takes=10)],
        [executed(result=None)],  # what it returned is not known
        [executed(**FAILED)],  # what the model was told of the failure is not
        [executed(), chat(4, (), "Let me think.", gen_ai__agent__name="other")],  # another agent spoke
    ],
)
def test_a_prompt_is_not_inferred_from_less(between: list[Span]) -> None:
    found = rows(agent(), chat(1, [ASKED], CALL), *between, chat(5, **FAILED))
    assert prompt(found, len(found.model_calls)) == ("none", [])


def _in_steps(ran: Span, *, again: str = "model", name: str = "model") -> Rows:
    """An agent whose loop is spans side by side: one for each request, with the tools between them."""
    first = act("invoke_agent", 1, takes=1, span_id=f"{6:016x}", name="model", gen_ai__agent__name="model")
    last = act("invoke_agent", 5, takes=2, span_id=f"{7:016x}", name=again, gen_ai__agent__name=name)
    asking = chat(1.2, [ASKED], CALL, takes=0.5, inside=first.span_id, gen_ai__agent__name="model")
    failed = chat(5.2, takes=0.5, inside=last.span_id, gen_ai__agent__name=name, **FAILED)
    return rows(agent(), first, asking, ran, last, failed)


def test_a_loop_of_one_agent_may_be_spans_side_by_side() -> None:
    assert prompt(_in_steps(executed())) == (
        "inferred",
        [ASKED, said("assistant", CALL), returned("c1", SNOW)],
    )


@pytest.mark.parametrize(
    "found",
    [
        _in_steps(executed(), again="summary"),
        _in_steps(executed(), name="summary"),
        _in_steps(executed(1.8, takes=0.1)),
        _in_steps(executed(inside=f"{6:016x}")),
    ],
    ids=["another span", "another agent", "a tool inside", "a tool below"],
)
def test_spans_side_by_side_that_no_tool_joins_are_not_one_loop(found: Rows) -> None:
    assert prompt(found) == ("none", [])


def test_a_prompt_of_a_request_that_did_not_fail_or_is_told_stays() -> None:
    assert prompt(rows(agent(), chat(1, [ASKED], CALL), executed(), chat(5, (), "Snow.")))[0] == "none"
    told = rows(agent(), chat(1, [ASKED], CALL), executed(), chat(5, [ASKED], **FAILED))
    assert prompt(told) == ("full", [ASKED])
    answered = rows(agent(), chat(1, [ASKED], "Snow."), chat(5, **FAILED))
    assert prompt(answered) == ("none", [])  # nothing was to be told


def models(asked: str | None, answered: str | None) -> dict[str, str]:
    names = {"gen_ai__request__model": asked, "gen_ai__response__model": answered}
    return {key: name for key, name in names.items() if name}


def test_the_span_around_several_requests_names_the_model_that_was_asked_for() -> None:
    def asked(outer: str, inner: str) -> list[str | None]:
        around = act("chat", 1, takes=20, span_id=f"{7:016x}", **models("m", outer))
        below = [
            chat(at, [ASKED], text, inside=around.span_id, **models(None, inner))
            for at, text in ((2, "Snow."), (4, "Rain."))
        ]
        return [call.request_model for call in rows(agent(), around, *below).model_calls]

    assert asked("m-2024-07-18", "m-2024-07-18") == ["m", "m"]
    assert asked("m-2024-07-18", "n-2024-07-18") == [None, None]  # another model answered


def test_a_version_that_no_span_calls_asked_for_is_what_answered() -> None:
    def asked(first: dict[str, str]) -> str | None:
        one = chat(1, [ASKED], CALL, **first)
        found = rows(agent(), one, executed(), chat(5, [ASKED], **models("m", None), **FAILED))
        return found.model_calls[0].request_model

    unlabelled = {"langfuse__observation__model__name": "m-2024-07-18"}
    assert asked(unlabelled) == "m"
    assert asked(models("m-2024-07-18", "m-2024-07-18")) == "m-2024-07-18"  # its span says so
    assert asked({"langfuse__observation__model__name": "n-2024-07-18"}) == "n-2024-07-18"


def test_a_text_that_is_retold_before_just_these_calls_was_said_with_them() -> None:
    def said_first(*retold: dict[str, object] | str) -> object:
        again = [ASKED, said("assistant", *retold), returned("c1", "snow")]
        found = rows(agent(), chat(1, [ASKED], CALL), executed(), chat(5, again, "Snow."))
        texts = {value.number: json.loads(value.json) for value in found.values if value.json}
        return texts[found.model_calls[0].output_values[0]]

    assert said_first("I will look.", CALL) == said("assistant", "I will look.", CALL)
    assert said_first(CALL) == said("assistant", CALL)
    other = asks("weather", {"city": "Bergen"}, "c2")
    assert said_first("I will look.", CALL, other) == said("assistant", CALL)


def test_a_call_without_arguments_has_those_that_the_whole_response_gives_it() -> None:
    whole = {"choices": [{"message": {"role": "assistant", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "leave", "arguments": "{}"}}
    ]}}]}  # fmt: skip
    call = act(
        "chat",
        1,
        llm__output_messages__0__message__role="assistant",
        llm__output_messages__0__message__tool_calls__0__tool_call__id="c1",
        llm__output_messages__0__message__tool_calls__0__tool_call__function__name="leave",
        output__value=json.dumps(whole),
    )
    (asked,) = rows(agent(), call).tool_calls
    assert asked.arguments == "{}"
    del call.attributes["output.value"]  # type: ignore[attr-defined]
    (asked,) = rows(agent(), call).tool_calls
    assert asked.arguments is None


def test_a_run_around_which_nobody_speaks_ended_as_its_last_agent_did() -> None:
    def outcome(*more: Span, root: str = "", takes: float = 50) -> str:
        around = act(root, 0, takes=takes, span_id=f"{1:016x}", parent_span_id="", name="serve")
        inner = act("invoke_agent", 1, takes=20, span_id=f"{5:016x}", **FAILED)
        asking = chat(2, [ASKED], CALL, inside=inner.span_id)
        return rows(around, inner, asking, *more).runs[0].outcome

    assert outcome() == "error"
    assert outcome(root="invoke_workflow", takes=0.5) == "error"  # it only set the agent going
    assert outcome(root="invoke_workflow") == "ok"  # its program went on from the failure
    assert outcome(chat(4, [ASKED], "Snow.")) == "ok"  # there is an answer
    assert outcome(chat(30, [ASKED], CALL)) == "ok"  # somebody else went on
    assert outcome(act("invoke_agent", 30, takes=5)) == "ok"


@pytest.mark.parametrize(
    ("said_name", "read"),
    [('"weather"', "weather"), ("weather", "weather"), (None, "Tool.acall")],
)
def test_a_span_called_after_a_method_says_the_name_of_the_tool(said_name: str | None, read: str) -> None:
    span = act("execute_tool", 1, name="Tool.acall")
    attributes = dict(span.attributes)
    if said_name is not None:
        attributes["name"] = said_name
    span.attributes = attributes
    assert rows(agent(), span).tool_calls[0].tool_name == read


def test_a_thought_beside_the_calls_is_the_text_before_them() -> None:
    prefix = "llm__input_messages__1__message"
    told: dict[str, Any] = {
        "llm__input_messages__0__message__role": "user",
        "llm__input_messages__0__message__content": "Hi",
        f"{prefix}__role": "assistant",
        f"{prefix}__tool_calls__0__tool_call__id": "c1",
        f"{prefix}__tool_calls__0__tool_call__function__name": "weather",
        f"{prefix}__tool_calls__0__tool_call__function__arguments": json.dumps(OSLO),
        "llm__input_messages__1__thought": "I will look.",
    }
    call = act("chat", 1, **told)
    assert prompt(rows(agent(), call), 1)[1][1] == said("assistant", "I will look.", CALL)


def test_a_name_beside_the_name_of_a_tool_is_something_else() -> None:
    span = act("execute_tool", 1, name="weather")
    span.attributes = {**span.attributes, "name": "worker-7"}
    assert rows(agent(), span).tool_calls[0].tool_name == "weather"


def test_the_span_inside_names_what_was_asked_for_if_the_outer_one_names_the_version_of_it() -> None:
    def asked(outer: str, inner: str) -> str | None:
        around = chat(1, [ASKED], "Snow.", span_id=f"{7:016x}", takes=5, **models(outer, outer))
        below = chat(2, [ASKED], "Snow.", inside=around.span_id, **models(inner, None))
        (call,) = rows(agent(), around, below).model_calls
        return call.request_model

    assert asked("m-2024-07-18", "m") == "m"
    assert asked("m-2024-07-18", "n") == "m-2024-07-18"
    assert asked("m-large", "m") == "m-large"


def test_an_execution_whose_result_only_a_message_tells_failed_if_that_says_so() -> None:
    def status(told: str, **more: Any) -> str:
        done = tool(3, "weather", OSLO, gen_ai__tool__call__id="c1", **more)
        again = [ASKED, said("assistant", CALL), returned("c1", told)]
        found = rows(agent(), chat(1, [ASKED], CALL), done, chat(5, again, "Well."))
        return found.tool_calls[0].status

    assert status("Error: the record is locked") == "error"
    assert status("Errors are rare") == "ok"
    result = {"gen_ai__tool__call__result": "Error: what a log says"}
    assert status("Error: what a log says", **result) == "ok"  # it returned this, and its span ended well


@pytest.mark.parametrize(
    ("given", "input_"),
    [
        ({"args": ["Hi"], "kwargs": {}}, "Hi"),
        ({"args": ["Hi", "there"], "kwargs": {}}, None),
        ({"args": ["Hi"], "kwargs": {"top": 1}}, None),
        ({"args": [7], "kwargs": {}}, None),
    ],
)
def test_the_only_argument_of_an_agent_is_what_it_was_asked(given: object, input_: str | None) -> None:
    root = agent(traceloop__entity__input=json.dumps(given))
    assert rows(root, executed()).runs[0].input == input_


def test_a_text_is_without_the_quotes_of_json_where_all_of_its_span_is_json() -> None:
    def asked(**more: Any) -> str | None:
        own = {"mlflow__spanType": '"AGENT"', "mlflow__spanInputs": '"Hi"', **more}
        root = act("", 0, takes=9, span_id=f"{1:016x}", parent_span_id="", name="orla", **own)
        return rows(root, chat(1, [said("user", "Ho")], "Well.", gen_ai__agent__name="")).runs[0].input

    assert asked() == "Hi"
    assert asked(note="not JSON") == '"Hi"'


def test_null_is_no_prompt() -> None:
    call = act("chat", 1, mlflow__spanInputs="null", mlflow__spanOutputs="null")
    (row,) = rows(agent(), call).model_calls
    assert (row.history, row.output_values) == ("none", [])


def test_messages_whose_parts_say_who_speaks_are_read_by_these() -> None:
    asking = [{"part_kind": "user-prompt", "content": "Hi"}]
    called = [
        {"part_kind": "text", "content": "I will look."},
        {
            "part_kind": "tool-call",
            "tool_name": "weather",
            "args": json.dumps(OSLO),
            "tool_call_id": "c1",
            "id": None,
        },
    ]
    result = {"tool_name": "weather", "content": SNOW, "tool_call_id": "c1"}
    given = {
        "messages": [
            {"kind": "request", "instructions": "Be brief.", "parts": asking},
            {"kind": "response", "parts": called},
            {
                "kind": "request",
                "instructions": "Be brief.",
                "parts": [{"part_kind": "tool-return", **result}],
            },
            {"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "Say more."}]},
        ]
    }
    answer = {"kind": "response", "parts": [{"part_kind": "text", "content": "Snow."}]}
    call = act("chat", 1, mlflow__spanInputs=json.dumps(given), mlflow__spanOutputs=json.dumps(answer))
    found = rows(agent(), call)
    assert prompt(found, 1)[1] == [
        said("user", "Hi"),
        said("assistant", "I will look.", CALL),
        returned("c1", SNOW),
        said("user", "Say more."),
    ]
    texts = {value.number: json.loads(value.json) for value in found.values if value.json}
    assert texts[found.model_calls[0].output_values[0]] == said("assistant", "Snow.")
    system = next(value for value in found.values if value.number == found.model_calls[0].system_value)
    assert [texts[number] for number in system.elements] == [{"type": "text", "content": "Be brief."}]


def test_an_agent_that_executes_tools_and_answers_had_a_model() -> None:
    answered = agent(traceloop__entity__output="It snows.")
    fields = [problem.field for problem in rows(answered, executed()).problems]
    assert fields == ["model_calls"]
    assert not rows(agent(), executed()).problems
    (doubt,) = rows(answered, chat(1, [ASKED], CALL), executed()).problems
    assert "no request that is told answered it" in doubt.reason
    assert not rows(executed()).problems


def test_an_agent_called_after_a_method_has_the_name_beside_it() -> None:
    def name(**more: Any) -> str | None:
        root = agent(gen_ai__agent__name="", **more)
        root.attributes = {**root.attributes, "name": '"orla"'}
        return rows(root, chat(1, [ASKED], "Snow.", gen_ai__agent__name="")).runs[0].agent_name

    assert name(name="Agent.run") == "orla"
    assert name(name="invoke_agent") is None


def _given(at: float, answer: object, *, tokens: int = 7, as_json: bool = False, **more: Any) -> Span:
    """Return a step that is given what a client received."""
    message = {"role": "assistant", "content": None, "tool_calls": answer}
    if isinstance(answer, str):
        message = {"role": "assistant", "content": answer}
    usage = {"prompt_tokens": tokens, "completion_tokens": 2}
    response = {"model": "m-2026", "choices": [{"message": message}], "usage": usage}
    event = json.dumps(response) if as_json else f"Output(agent='orla', raw={response!r})"
    return act("", at, name="parse", x__given=json.dumps({"event": event}), **more)


_TOLD_CALL = [
    {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
]
_COUNTS = {"gen_ai__usage__input_tokens": 7, "gen_ai__usage__output_tokens": 2}


@pytest.mark.parametrize(
    ("answer", "following", "model"),
    [
        (CALL, [_given(3, _TOLD_CALL)], "m-2026"),
        ("Snow.", [_given(3, "Snow.")], "m-2026"),
        ("Snow.", [act("", 2.5), act("", 2.6), _given(3, "Snow.")], "m-2026"),
        ("Snow.", [act("", 2.5), act("", 2.6), act("", 2.7), _given(3, "Snow.")], None),
        ("Snow.", [_given(3, "Rain.")], None),
        ("Snow.", [_given(3, "Snow.", tokens=8)], None),
        ("Snow.", [_given(0.5, "Snow.")], None),
        (CALL, [_given(3, _TOLD_CALL, as_json=True)], "m-2026"),
    ],
    ids=["ids", "text", "near", "far", "another answer", "other counts", "before", "JSON"],
)
def test_the_step_that_is_given_the_response_names_the_model_that_answered(
    answer: Any, following: list[Span], model: str | None
) -> None:
    (call,) = rows(agent(), chat(1, [ASKED], answer, **_COUNTS), *following).model_calls
    assert call.response_model == model


def test_what_a_tool_or_another_request_was_given_names_no_model() -> None:
    given = str(_given(3, "Snow.").attributes["x.given"])
    asked = executed(3, x__given=given)
    (call,) = rows(agent(), chat(1, [ASKED], "Snow.", **_COUNTS), asked).model_calls
    assert call.response_model is None


def test_a_prompt_is_inferred_from_the_results_of_several_tools_in_the_order_of_the_calls() -> None:
    second = asks("weather", {"city": "Bergen"}, "c2")
    bergen = tool(3, "weather", {"city": "Bergen"}, {"sky": "rain"}, gen_ai__tool__call__id="c2")
    found = rows(agent(), chat(1, [ASKED], CALL, second), bergen, executed(3.5), chat(5, **FAILED))
    told = [returned("c1", SNOW), returned("c2", {"sky": "rain"})]
    assert prompt(found) == ("inferred", [ASKED, said("assistant", CALL, second), *told])
