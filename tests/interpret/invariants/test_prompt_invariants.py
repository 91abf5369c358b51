"""Invariants of prompts and of what they repeat: a made run that breaks one and is listed, and one that nearly does and is not."""

from __future__ import annotations

import json

import pytest
from doubted import ASKED, OSLO, SNOW, doubts, one_doubt, weather
from made_runs import act, agent, asks, chat, returned, rows, said, tool


def test_a_result_belongs_to_a_call_that_was_asked_for() -> None:
    again = [ASKED, said("assistant", asks("weather", OSLO, "c1")), returned("c2", "snow")]
    assert one_doubt(agent(), chat(1, again, SNOW)) == (
        "input_messages",
        "the result of a call that no answer before it asked for",
    )
    # The call may stand in the prompt, or be an answer before of which the prompt says nothing.
    again[-1] = returned("c1", "snow")
    assert doubts(agent(), chat(1, again, SNOW)) == []
    asked = chat(1, [ASKED], asks("weather", OSLO, "c1"))
    assert doubts(agent(), asked, chat(3, [ASKED, returned("c1", "snow")], SNOW)) == []


def test_an_api_that_keeps_the_history_keeps_the_call() -> None:
    kept = {"gen_ai__request__previous_response_id": "resp-1", "openai__api__type": "responses"}
    call = chat(1, [returned("c1", "snow")], SNOW, openai__request__previous_response_id="resp-1", **kept)
    found = rows(agent(), call)
    assert found.problems == []


def test_results_without_ids_are_no_more_than_calls() -> None:
    call = said("assistant", asks("weather", OSLO))
    first, last = chat(1, [ASKED], asks("weather", OSLO)), [ASKED, call, returned(None, "snow")]
    assert doubts(agent(), first, chat(3, last, SNOW)) == []
    # One result for the one call that a prompt leaves out is its own.
    assert doubts(agent(), first, chat(3, [ASKED, returned(None, "snow")], SNOW)) == []
    more = [ASKED, returned(None, "snow"), returned(None, "rain")]
    assert one_doubt(agent(), first, chat(3, more, SNOW)) == (
        "input_messages",
        "a result without id, and fewer calls before it than results",
    )
    # A model that asks in words of its own has no calls to compare with.
    for result in (returned(None, "snow"), said("tool", "snow")):
        assert doubts(agent(), chat(1, [ASKED], "Action: weather"), chat(3, [ASKED, result], SNOW)) == []


def test_a_message_of_a_tool_is_a_result() -> None:
    first = chat(1, [ASKED], asks("weather", OSLO, "c1"))
    called = [ASKED, said("assistant", asks("weather", OSLO, "c1"))]
    assert doubts(agent(), first, chat(3, [*called, said("tool", "snow")], SNOW)) == []
    picture: dict[str, object] = {"role": "tool", "parts": [{"type": "blob", "content": "c25vdw=="}]}
    assert one_doubt(agent(), first, chat(3, [*called, picture], SNOW)) == (
        "input_messages",
        "a message of a tool in which no result is read",
    )


def test_a_run_does_not_begin_with_results_unless_an_agent_was_given_them() -> None:
    given = [ASKED, said("assistant", asks("weather", OSLO, "c1")), returned("c1", "snow")]
    alone = chat(1, given, SNOW, parent_span_id="")
    assert one_doubt(alone)[1].startswith(
        "the first prompt ends with the result of a call that is not of this run"
    )
    assert doubts(agent(), chat(1, given, SNOW)) == []
    # A further turn of a conversation ends with its user.
    assert doubts(chat(1, [*given, said("assistant", SNOW), ASKED], SNOW, parent_span_id="")) == []


def _retold(answer: list[object], *told: object) -> list[tuple[str, str]]:
    first = chat(1, [ASKED], *answer)  # type: ignore[arg-type]
    return doubts(agent(), first, chat(3, [ASKED, *told, said("user", "And Bergen?")], "Rain."))  # type: ignore[list-item]


def test_an_answer_is_repeated_as_it_was_read() -> None:
    call, other = asks("weather", OSLO, "c1"), asks("weather", {"city": "Bergen"}, "c2")
    reason = ("output_messages", "the prompt of model call 2 repeats this answer, and not as it was read")
    assert _retold([call], said("assistant", call, other)) == [reason]
    assert _retold(["I will look."], said("assistant", "I will look.", call)) == [reason]
    assert _retold([call], said("assistant", "I will look.", call, other)) == [reason]
    assert _retold([SNOW], said("assistant", "Rain in Bergen.")) == [reason]


def test_a_repetition_may_leave_out_split_reorder_and_rename() -> None:
    call, other = asks("weather", OSLO, "c1"), asks("weather", {"city": "Bergen"}, "c2")
    assert _retold([SNOW, call, other], said("assistant", call)) == []
    assert _retold([call], said("assistant", "I will look.", call)) == []  # the answer is completed by it
    assert _retold([call, other], said("assistant", other, call)) == []
    assert _retold(["I will look.", call], said("assistant", "I will look."), said("assistant", call)) == []
    assert _retold([call], said("assistant", asks("mcp__forecast__weather", OSLO, "renamed"))) == []
    spaced = said("assistant", SNOW.replace(" ", "  "))
    assert _retold([SNOW + "\n"], spaced) == []
    assert _retold([SNOW], spaced, said("assistant", call)) == []  # and goes on
    assert _retold(['{"a": 1, "b": 2}'], said("assistant", '{"b": 2, "a": 1}')) == []
    # Calls told as text; and somebody else's words.
    assert _retold([call], said("assistant", "Calling tools: weather of Oslo")) == []
    assert _retold([SNOW], {**said("assistant", "Rain in Bergen."), "name": "milo"}) == []


def test_of_several_tries_one_goes_on() -> None:
    first, second = chat(1, [ASKED], SNOW), chat(2, [ASKED], "Let me think again.")
    told = [ASKED, said("assistant", f"{SNOW} Really."), said("user", "And Bergen?")]
    assert doubts(agent(), first, second, chat(5, told, "Rain.")) == []


@pytest.mark.parametrize(
    "text",
    [
        "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='How is Oslo?')])",
        "<__main__.Answer object at 0x7f3e91d0a4b3>",
    ],
)
def test_a_printed_object_is_not_what_somebody_said(text: str) -> None:
    assert one_doubt(agent(), chat(1, [said("user", text)], SNOW)) == (
        "input_messages",
        "a text that is a printed object",
    )
    assert one_doubt(agent(), chat(1, [ASKED], text))[0] == "output_messages"


def test_a_model_does_not_answer_in_python() -> None:
    printed = "[{'role': 'assistant', 'content': 'It snows.', 'note': datetime(2026, 1, 1)}]"
    assert one_doubt(agent(), chat(1, [ASKED], printed))[0] == "output_messages"


@pytest.mark.parametrize(
    "text",
    [
        "ChatMessage(role='user', content='How is",  # half of one
        "What does Message(role='user', content='hi') print?",
        "Why do I see <__main__.Answer object at 0x7f3e91d0a4b3> here?",
        '[{"type": "tool_call", "id": "c9", "name": "weather", "arguments": {}}]',
        '[{"role": "assistant", "tool_calls": [{"id": "c9", "function": {"name": "weather"}}]}]',
        "[{'role': 'user', 'content': 'How is Oslo?'}]",
        "user: How is Oslo?\nassistant: It snows.\ntool: call c9 returned snow",
    ],
)
def test_what_people_paste_is_what_they_say(text: str) -> None:
    pasted = said("user", text)
    found = rows(agent(), chat(1, [pasted], SNOW))
    assert found.problems == []
    assert json.loads(found.values[0].json)["parts"] == [{"type": "text", "content": text}]


def test_a_result_that_looks_like_messages_is_a_result() -> None:
    call = asks("read_chat", {}, "c1")
    for chats in (
        [{"role": "assistant", "tool_calls": [{"id": "c9", "function": {"name": "weather"}}]}],
        "[{'role': 'tool', 'tool_call_id': 'c9', 'content': 'snow'}]",
    ):
        spans = [
            chat(1, [ASKED], call),
            tool(3, "read_chat", {}, chats, gen_ai__tool__call__id="c1"),
            chat(5, [ASKED, said("assistant", call), returned("c1", chats)], SNOW),
        ]
        found = rows(agent(), *spans)
        assert found.problems == [] and len(found.tool_calls) == 1


def test_a_result_told_around_the_calls_names_its_call() -> None:
    told = json.dumps([returned(None, "I will look.")])
    assert one_doubt(*weather(), act("invoke_agent", 4, gen_ai__input__messages=told))[0] == "result"
    returned_so = json.dumps([returned(None, "snow")])  # what a call returned is its result, named or not
    assert doubts(*weather(), act("invoke_agent", 4, gen_ai__input__messages=returned_so)) == []
    nameless = chat(1, [ASKED], asks("weather", OSLO))
    around = act("invoke_agent", 4, gen_ai__input__messages=told)
    assert [field for field, _ in doubts(agent(), nameless, around)] == ["output"]
    named = json.dumps([returned("c1", "snow")])
    assert doubts(*weather(), act("invoke_agent", 4, gen_ai__input__messages=named)) == []


def test_a_prompt_tells_the_results_of_calls_that_had_been_executed() -> None:
    call = asks("weather", OSLO, "c1")
    asked = chat(1, [ASKED], call)

    def run(*told: dict[str, object], takes: float = 1, error: str = "") -> list[tuple[str, str]]:
        how: dict[str, str] = {"error": error, "status": "error"} if error else {}
        done = tool(3, "weather", OSLO, "snow", gen_ai__tool__call__id="c1", takes=takes, **how)
        again = chat(5, [ASKED, said("assistant", call), *told], SNOW)
        return doubts(agent(), asked, *([done] if takes else []), again)

    reason = "a call that had been executed is repeated, and no result of it is told"
    assert run() == run(said("user", "Well?")) == [("input_messages", reason)]
    assert run(returned("c1", "snow")) == []
    assert run(returned(None, "snow")) == []  # whose it is, it does not say
    assert run(takes=10) == []  # the prompt is of something inside the execution
    assert run(said("user", "Stop!"), takes=0) == []
    assert run(error="Timeout") == []  # there was none to tell


def test_the_answers_that_a_prompt_adds_are_of_the_run() -> None:
    call, other = asks("weather", OSLO, "c1"), asks("weather", {"city": "Bergen"}, "c2")
    told = [ASKED, said("assistant", call), returned("c1", "snow")]
    more = [said("assistant", other), returned("c2", "rain")]

    def run(*answers: dict[str, object], first: dict[str, object] = call) -> list[str]:
        found = doubts(agent(), chat(1, [ASKED], first), chat(9, [*told, *answers], SNOW))
        return [reason for _, reason in found]

    assert run(*more) == ["a call that no answer of this run asked for stands among its answers"]
    assert run() == []
    assert run(*more, said("user", "And now?")) == []  # of another turn
    assert run(*more, first=asks("weather", OSLO)) == run(*more)  # the prompt completes the id of the first
    assert (
        doubts(agent(), chat(1, [*told, *more], "Snow."), chat(9, [*told, *more], SNOW)) == []
    )  # known before
