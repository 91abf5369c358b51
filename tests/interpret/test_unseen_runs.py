"""Forms that no rule knew when they were first recorded: each as small as it can be, and what is nearly the same and is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import RUN, act, agent, asks, chat, returned, rows, said, tool
from recordings.record.pure_views import views_of_rows
from spans import read_run

from retrospan.ingest.interpret.messages.tool_results import returned_as, told_error
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.json_text import read_value

OSLO = {"city": "Oslo"}
SNOW = {"condition": "snow"}
ASKED = said("user", "How is Oslo?")
CALL = asks("weather", OSLO, "c1")


def calls(*spans: Span) -> list[tuple[str | None, object, str]]:
    """Id, result and status of each tool call."""
    return [
        (call.tool_call_id, read_value(call.result), call.status) for call in rows(agent(), *spans).tool_calls
    ]


def executed(at: float, takes: float, **more: Any) -> Span:
    return tool(at, "weather", takes=takes, gen_ai__tool__call__id="c1", **more)


def test_an_execution_that_two_spans_tell_is_one() -> None:
    asking = chat(1, [ASKED], CALL)
    inner = executed(3.2, 0.5, parent_span_id=act("", 3, takes=2).span_id)
    outer = executed(3, 1, arguments=OSLO, result=SNOW)
    assert calls(asking, outer, inner) == [("c1", SNOW, "ok")]
    assert calls(asking, inner, outer) == [("c1", SNOW, "ok")]


@pytest.mark.parametrize(
    "other",
    [
        executed(5, 1, arguments=OSLO),
        executed(3.2, 5, arguments=OSLO),
        executed(3.2, 0.5, arguments={"city": "Bergen"}),
    ],
    ids=["another try", "it ends later", "other arguments"],
)
def test_other_executions_of_an_id_are_others(other: Span) -> None:
    assert len(calls(chat(1, [ASKED], CALL), executed(3, 1, arguments=OSLO, result=SNOW), other)) == 2


def test_what_a_program_keeps_beside_a_result_is_none_of_it() -> None:
    kept = {"title": "", "output": "it snows", "metadata": {"truncated": False}}
    again = chat(5, [ASKED, said("assistant", CALL), returned("c1", "it snows")], "Snow.")
    assert calls(chat(1, [ASKED], CALL), executed(3, 1, arguments=OSLO, result=kept), again) == [
        ("c1", "it snows", "ok")
    ]
    # What no prompt tells is told twice in the object itself, or stays as it is.
    twice = {**kept, "content": [{"type": "text", "text": "it snows"}]}
    assert calls(chat(1, [ASKED], CALL), executed(3, 1, arguments=OSLO, result=twice))[0][1] == "it snows"
    assert calls(chat(1, [ASKED], CALL), executed(3, 1, arguments=OSLO, result=kept))[0][1] == kept
    only = {"city": "Oslo", "sky": "snow"}
    told = chat(5, [ASKED, said("assistant", CALL), returned("c1", "Oslo")], "Snow.")
    assert calls(chat(1, [ASKED], CALL), executed(3, 1, arguments=OSLO, result=only), told)[0][1] == only


def test_a_node_of_tools_is_called_after_the_call_that_it_was_given() -> None:
    given = [{"name": "weather", "args": OSLO, "id": "c1", "type": "tool_call"}]
    printed = (
        "{'messages': [ToolMessage(content='{\"condition\": \"snow\"}', name='weather', tool_call_id='c1')]}"
    )
    node = tool(3, "graph.ToolNode.invoke", given, gen_ai__tool__call__result=printed)
    (call,) = rows(agent(), chat(1, [ASKED], CALL), node).tool_calls
    assert (call.tool_name, call.tool_call_id, call.asked_by) == ("weather", "c1", 1)
    assert (json.loads(call.arguments or ""), json.loads(call.result or "")) == (OSLO, SNOW)
    # Two calls, or an object that is called so, are what they are.
    two = tool(3, "batch", given * 2)
    named = tool(3, "call", given[0])
    for span, arguments in ((two, given * 2), (named, given[0])):
        (call,) = rows(agent(), span).tool_calls
        assert json.loads(call.arguments or "") == arguments


def test_a_printed_update_of_a_graph_is_the_answer_of_a_model() -> None:
    answer = (
        "AIMessage(content='', response_metadata={'model_name': 'm-1'}, usage_metadata={'input_tokens': 7, "
        "'output_tokens': 2}, tool_calls=[{'name': 'weather', 'args': {'city': 'Oslo'}, 'id': 'c1'}])"
    )
    given = "{'messages': [HumanMessage(content='How is Oslo?', additional_kwargs={})]}"
    attributes: dict[str, Any] = {
        "x__return": [f"Command(update={{'messages': [{answer}]}})"],
        "x__kwargs__input": given,
    }
    node = act("", 1, name="model_node", **attributes)
    found = rows(act("", 0, takes=9, span_id=f"{1:016x}", parent_span_id="", name="graph"), node)
    (call,) = views_of_rows([found]).model_calls
    assert (call["response_model"], found.runs[0].input_tokens) == ("m-1", 7)
    assert json.loads(call["output_messages"])[0]["parts"][0]["id"] == "c1"
    # What a tool returned in the same way is not an answer.
    other = {
        **attributes,
        "x__return": ["Command(update={'messages': [ToolMessage(content='', tool_call_id='c1')]})"],
    }
    assert not any(
        span.operation == "inference" for span in read_run(RUN, [act("", 1, **other)], None).tree.spans
    )


def pair(call_id: str, city: str) -> list[dict[str, object]]:
    return [said("assistant", asks("weather", {"city": city}, call_id)), returned(call_id, SNOW)]


def test_calls_that_are_retold_one_by_one_are_of_one_answer() -> None:
    retold = [ASKED, *pair("c1", "Oslo"), *pair("c2", "Bergen")]
    found = rows(agent(), chat(1, [ASKED]), chat(5, retold, "Snow."))
    assert [(call.tool_call_id, call.asked_by, call.status) for call in found.tool_calls] == [
        ("c1", 1, "ok"),
        ("c2", 1, "ok"),
    ]
    # An answer that is known asked for what it holds: the other one never came.
    known = rows(agent(), chat(1, [ASKED], asks("weather", OSLO, "c1")), chat(5, retold, "Snow."))
    assert [call.tool_call_id for call in known.tool_calls if call.asked_by == 1] == ["c1"]


def test_a_result_in_the_quotes_of_a_text_is_what_is_in_them() -> None:
    quoted = json.dumps(json.dumps(SNOW))
    assert returned_as(quoted) == SNOW
    assert returned_as('"snow"') == '"snow"'
    assert returned_as('"{not JSON"') == '"{not JSON"'
    assert told_error(json.dumps("Error: locked")) == "Error: locked"
    assert told_error('"All is well: no Error: at all"') is None
    declined = (
        'An agent requires permission to use "run_shell", but that permission was declined. Matching rule: 3'
    )
    assert told_error(declined, "run_shell") == declined
    assert told_error(declined, "read_file") is None, "what a file says of another tool"
    assert told_error("Permission to use Bash has been denied.", "Bash") is not None
    assert (
        told_error("It requested permissions to use Bash, but you haven't granted it yet.", "Bash")
        is not None
    )
    assert told_error("Bash: the permission was granted, and never denied", "Bash") is None
    locked = "The record is locked.\n\nFix the errors and try again."
    assert told_error(locked) == locked
    assert told_error("Fix the errors and try again, says the manual.") is None
    again = chat(5, [ASKED, said("assistant", CALL), returned("c1", quoted)], "Snow.")
    assert calls(chat(1, [ASKED], CALL), again) == [("c1", SNOW, "ok")]


def models(found: Rows) -> list[tuple[str | None, str | None]]:
    return [(call.request_model, call.response_model) for call in found.model_calls]


def test_a_client_that_goes_on_under_the_name_that_answered_was_asked_for_the_other() -> None:
    first = chat(1, [ASKED], "Hm.", gen_ai__request__model="m", param__model="m")
    more: dict[str, Any] = {"gen_ai__request__model": "m-2024-07-18"}
    again = chat(5, [ASKED, said("assistant", "Hm.")], "Snow.", param__model="m", **more)
    assert models(rows(agent(), first, again))[1] == ("m", "m-2024-07-18")
    # Without the other name beside it, or without a call that asked for that, it is what it is called.
    bare = chat(5, [ASKED, said("assistant", "Hm.")], "Snow.", **more)
    assert models(rows(agent(), first, bare))[1][0] == "m-2024-07-18"


def test_prompts_that_tell_only_what_is_new_go_on_from_the_run_before() -> None:
    def turn(*, conversation: str = "s-1", results: bool = True) -> list[Span]:
        given = [returned("c1", SNOW)] if results else [ASKED, said("assistant", CALL), returned("c1", SNOW)]
        return [agent(gen_ai__conversation__id=conversation), chat(1, [ASKED], CALL), chat(5, given, "Snow.")]

    before: Any = [said("user", "Hi"), said("assistant", "Hello.")]
    found = views_of_rows([rows(*turn(), previous=before)]).model_calls
    prompts = [[message["role"] for message in json.loads(call["input_messages"])] for call in found]
    assert prompts == [["user", "assistant", "user"], ["user", "assistant", "user", "assistant", "tool"]]
    for other in (turn(conversation=""), turn(results=False)):
        call = views_of_rows([rows(*other, previous=before)]).model_calls[0]
        assert len(json.loads(call["input_messages"])) == 1


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("<current_datetime>2026-11-26</current_datetime>\n\nHi", "Hi"),
        ("<environment>\nLinux\n\nx86\n</environment>\n\n<user_info>Ada</user_info>\n\nHi", "Hi"),
        (
            "<current_datetime>2026-11-26</current_datetime>",
            "<current_datetime>2026-11-26</current_datetime>",
        ),
        (
            "<current_datetime>2026-11-26</current_datetime> is late",
            "<current_datetime>2026-11-26</current_datetime> is late",
        ),
        ("<b>Hi</b>\n\nthere", "<b>Hi</b>\n\nthere"),
        ("Hi\n\n<user_info>Ada</user_info>\n\nthere", "Hi\n\n<user_info>Ada</user_info>\n\nthere"),
    ],
)
def test_what_a_program_puts_before_the_words_of_a_person_is_none_of_them(text: str, own: str) -> None:
    assert rows(agent(), chat(1, [said("user", text)], "Hello.")).runs[0].input == own


def test_results_in_another_order_than_their_calls_are_doubtful() -> None:
    both = [asks("weather", OSLO, "c1"), asks("weather", {"city": "Bergen"}, "c2")]

    def reasons(*order: str) -> list[str]:
        again = chat(5, [returned(call_id, SNOW) for call_id in order], "Snow.")
        return [problem.reason for problem in rows(agent(), chat(1, [ASKED], *both), again).problems]

    assert reasons("c1", "c2") == []
    assert reasons("c2", "c1") == ["the results stand in another order than the calls that asked for them"]


def test_a_tool_that_there_is_none_of_was_not_called_well() -> None:
    for told in (
        "Unknown tool name: 'cancel'. Available tools: 'get_order'",
        "Tool cancel not found",
        "No such tool: cancel",
    ):
        asked = asks("cancel", {"order": "1"}, "c1")
        again = chat(5, [ASKED, said("assistant", asked), returned("c1", told)], "I cancelled it.")
        (call,) = rows(agent(), chat(1, [ASKED], asked), again).tool_calls
        assert (call.status, call.error_message) == ("error", told)
    # Of another tool it is what this one found out.
    other = chat(
        5, [ASKED, said("assistant", CALL), returned("c1", "Unknown tool: hammer")], "There is none."
    )
    assert calls(chat(1, [ASKED], CALL), other) == [("c1", "Unknown tool: hammer", "ok")]


def test_what_was_asked_is_known_where_the_only_request_was_refused() -> None:
    earlier = [said("user", "Hello"), said("assistant", "Hello.")]
    refused = chat(1, error="ModelHTTPError")
    kept = json.dumps([*earlier, said("user", "Where is my order?")])
    (run,) = rows(agent(error="ModelHTTPError", x__all_messages=kept), refused).runs
    assert (run.outcome, run.input) == ("error", "Where is my order?")
    # A transcript that does not end with it tells what a program said.
    (run,) = rows(agent(error="ModelHTTPError", x__all_messages=json.dumps(earlier)), refused).runs
    assert run.input is None
