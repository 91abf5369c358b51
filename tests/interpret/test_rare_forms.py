"""Forms that few instrumentations send and that no recording holds, each by a small example."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from made_runs import RUN, SECOND, act, agent, asks, chat, returned, rows, said, tool
from made_spans import event, make_span
from spans import read_run

from retrospan.ingest.interpret.assembly.patches import NoPatch, patched
from retrospan.ingest.interpret.assembly.retelling import NEAR
from retrospan.ingest.interpret.dialects.switches import switch_for
from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY
from retrospan.ingest.interpret.normalize.completion import answered_once
from retrospan.ingest.interpret.normalize.message import Message
from retrospan.ingest.interpret.normalize.message_parts import read_part
from retrospan.ingest.interpret.normalize.messages import read_messages
from retrospan.ingest.interpret.normalize.operations import operation_of
from retrospan.ingest.interpret.normalize.provider_payloads import parse_answer, parse_question
from retrospan.ingest.interpret.normalize.response_usage import parse_usage
from retrospan.ingest.interpret.normalize.tool_results import error_of, response_of
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.placeholders import broken_run, deleted_run
from retrospan.ingest.interpret.spans.exchange import exchange_by_keys, exchange_by_values
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import SpanFields, whole
from retrospan.ingest.interpret.spans.unflatten import unflatten
from retrospan.ingest.interpret.stated.times import read_rfc3339


def reasons(found: Rows) -> list[str]:
    return [problem.reason for problem in found.problems]


@pytest.mark.parametrize(
    ("blocks", "response"),
    [
        ([{"json": {"a": 1}}], {"a": 1}),
        ([{"json": 1}, {"json": 2}], [1, 2]),
        ([{"json": 1}, {"json": 2, "at": 3}], [{"json": 1}, {"json": 2, "at": 3}]),
    ],
)
def test_bedrock_s_blocks_of_json_are_their_json(blocks: object, response: object) -> None:
    assert response_of(blocks) == response


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ({"isError": True, "content": "no city"}, "no city"),
        ({"is_error": True, "content": "no city"}, "no city"),
        ({"isError": False, "content": "Oslo"}, None),
        ({"error": "no city"}, "no city"),
        ({"error": ""}, None),
        ({"error": "no city", "city": "Oslo"}, None),
        ({"error": {"code": 7}}, '{"code":7}'),
    ],
)
def test_a_result_says_that_the_tool_failed(response: object, error: str | None) -> None:
    assert error_of(response) == error


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("Error: no city", "error"),
        ("ValueError: no city", "error"),
        ("Error calling tool: no city", "error"),
        ("Errors: none", "ok"),
        ("No error: all is well", "ok"),
        ("ErrorLog is empty", "ok"),
    ],
)
def test_a_result_that_only_a_prompt_tells_says_by_its_text_that_the_tool_raised(
    result: str, status: str
) -> None:
    first = chat(1, [said("user", "Hi")], asks("look", {"a": 1}, "c1"))
    retold = [said("user", "Hi"), said("assistant", asks("look", {"a": 1}, "c1")), returned("c1", result)]
    (row,) = rows(agent(), first, chat(5, retold, "Done.")).tool_calls
    assert (row.status, row.error_message) == (status, result if status == "error" else None)
    # A span of the execution that ended well knows better.
    spoken = tool(3, "look", {"a": 1}, result, gen_ai__tool__call__id="c1")
    (row,) = rows(agent(), first, spoken, chat(5, retold, "Done.")).tool_calls
    assert row.status == "ok"


def test_a_message_with_a_role_is_not_opened() -> None:
    inner = {"content": "inside", "role": "user"}
    (message,) = read_messages([{"role": "assistant", "data": inner, "content": "outside"}])
    assert message == {"role": "assistant", "parts": [{"type": "text", "content": "outside"}]}
    (message,) = read_messages([{"type": "ai", "data": {"content": "inside"}}])
    assert message == {"role": "assistant", "parts": [{"type": "text", "content": "inside"}]}


def test_of_results_told_twice_the_one_that_is_an_error_is_one() -> None:
    def told(*failed: bool) -> Message:
        parts = [
            {
                "type": "tool_call_response",
                "id": f"c{number}",
                "response": "x",
                **({"is_error": True} if each else {}),
            }
            for number, each in enumerate(failed, start=1)
        ]
        return read_messages([{"role": "tool", "parts": parts}])[0]

    (message,) = answered_once([told(False, False), told(False, True)])
    assert ["is_error" in part for part in message["parts"]] == [False, True]


def test_an_exchange_is_looked_for_among_the_attributes_of_the_span_itself() -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    values: dict[str, object] = {"a": json.dumps(request), "b": json.dumps({"choices": [{"text": "Hello"}]})}
    details = event("gen_ai.client.inference.operation.details")
    fields = SpanFields(make_span(values, events=[details]), EVERY_FAMILY)
    assert fields.holds_exchange()
    assert None not in (fields.request, fields.response)
    parts = {
        "acme.messages": json.dumps(request["messages"]),
        "acme.choices": json.dumps([{"text": "Hello"}]),
    }
    assert SpanFields(make_span(dict(parts), events=[details]), EVERY_FAMILY).exchange is not None


@pytest.mark.parametrize(
    ("path", "is_answer"), [(["langchain", "schema", "AIMessage"], True), (["AIMessage", 5], False)]
)
def test_the_name_of_a_class_is_the_last_of_its_path(path: list[object], is_answer: bool) -> None:
    printed = [{"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": "Snow."}}]
    fields = SpanFields(make_span({"x": json.dumps(printed)}), EVERY_FAMILY)
    assert (fields.response is not None) is is_answer


def test_a_tool_s_parts_that_are_not_all_text_stay_parts() -> None:
    image = {"type": "image", "url": "u"}
    sent = {"role": "tool", "tool_call_id": "c1", "parts": [{"type": "text", "content": "x"}, image]}
    (message,) = read_messages([sent])
    assert [part["type"] for part in message["parts"]] == ["text", "image"]
    sent["parts"] = [{"type": "text", "content": "x"}, {"type": "text", "content": "y"}]
    (message,) = read_messages([sent])
    assert message["parts"] == [{"type": "tool_call_response", "id": "c1", "response": "xy"}]


def test_a_call_of_the_older_form_is_read() -> None:
    sent = {
        "role": "assistant",
        "function_call_name": "look",
        "function_call_arguments_json": '{"a": 1}',
    }
    (message,) = read_messages([sent])
    assert message["parts"] == [{"type": "tool_call", "name": "look", "arguments": {"a": 1}}]


def test_a_part_of_a_kind_that_is_not_known_stays_as_it_was_sent() -> None:
    assert read_part({"strange": 1}) == {"type": "unknown", "strange": 1}
    assert read_part({"type": "strange", "a": 1}) == {"type": "strange", "a": 1}


@pytest.mark.parametrize("choice", [{"message": {}}, {"text": "a"}, {"content": "a"}])
def test_a_response_holds_an_answer_in_each_of_its_choices(choice: dict[str, Any]) -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}

    def found(choices: list[Any]) -> bool:
        values = {"a": json.dumps(request), "b": json.dumps({"choices": choices})}
        return exchange_by_values(values) is not None

    assert found([choice]) and found([choice, choice])
    assert not found([choice, {"index": 1}]) and not found([]) and not found(["a"])


def test_a_message_that_says_why_it_ended_is_a_response() -> None:
    def found(answer: dict[str, object]) -> bool:
        values = {
            "x.request.model": "m",
            "x.request": json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}),
            "x.response": json.dumps(answer),
        }
        return exchange_by_keys(values) is not None or exchange_by_values(values) is not None

    whole_answer: dict[str, object] = {
        "role": "assistant",
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "a"}],
    }
    assert found(whole_answer)
    assert found({**whole_answer, "content": "a"})
    assert not found({**whole_answer, "stop_reason": 7, "content": "a"})
    assert not found({"role": "assistant", "content": "a"})


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("text_embedding", "embedding"),
        ("create.embeddings", "embedding"),
        ("chat.completions", "inference"),
        ("stream completion", "inference"),
        ("something else", "other"),
    ],
)
def test_an_operation_of_one_s_own_is_known_by_its_words(name: str, operation: str) -> None:
    assert (
        operation_of(SpanFields(make_span({"gen_ai.operation.name": name}), EVERY_FAMILY), True) == operation
    )


def test_a_question_is_found_two_levels_deep_and_no_deeper() -> None:
    asked: dict[str, Any] = {"query": "Where?"}
    assert len(parse_question({"a": {"b": asked}})) == 1
    assert parse_question({"a": {"b": {"c": asked}}}) == []


def test_an_answer_in_parts_is_one_message() -> None:
    (message,) = parse_answer({"role": "model", "parts": [{"text": "a"}, {"text": "b"}]})
    assert [part.get("content") for part in message["parts"]] == ["a", "b"]


def test_only_a_text_between_quotes_loses_them() -> None:
    fields = SpanFields(
        make_span({"a": 'say "hi"', "b": '"hi" he said', "c": '"hi"', "d": '"', "e": '""'}), EVERY_FAMILY
    )
    assert [fields.text(key) for key in "abcde"] == ['say "hi"', '"hi" he said', "hi", None, None]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (10**12, 10**12),
        (10**12 + 1, None),
        (1e12, 10**12),
        (1e13, None),
        (float("nan"), None),
        ("1000000000000", 10**12),
        ("1000000000001", None),
        ("9" * 19, None),
        ("9" * 20, None),
        ("12", 12),
        ('"12"', 12),
        ("-1", None),
        (-1, None),
        (0, 0),
        (2.0, 2),
        (2.5, None),
        (-2.0, None),
        (True, None),
        (None, None),
    ],
)
def test_a_whole_number_is_one_from_0_to_a_million_millions(value: object, number: int | None) -> None:
    assert whole(value) == number


def test_a_time_has_nine_digits_of_its_second() -> None:
    assert read_rfc3339("1970-01-01T00:00:01.123456789Z").nanoseconds == 1_123_456_789
    assert read_rfc3339("1970-01-01T00:00:01.1234567891Z").nanoseconds == 1_123_456_789
    assert read_rfc3339("1970-01-02T00:00:00.5z").nanoseconds == 86_400 * SECOND + SECOND // 2


def _patch(op: str, path: str, **more: object) -> list[dict[str, object]]:
    return [{"op": op, "path": path, **more}]


@pytest.mark.parametrize(
    ("patch", "after"),
    [
        (_patch("move", "/a", **{"from": "/a"}), {"a": 1, "b": [1, 2]}),
        (_patch("replace", "/b/1", value=3), {"a": 1, "b": [1, 3]}),
        (_patch("replace", "/b/0", value=3), {"a": 1, "b": [3, 2]}),
        (_patch("remove", "/b/1"), {"a": 1, "b": [1]}),
        (_patch("add", "/b/2", value=3), {"a": 1, "b": [1, 2, 3]}),
        (_patch("add", "/b/-", value=3), {"a": 1, "b": [1, 2, 3]}),
    ],
)
def test_a_patch_reaches_each_place_of_an_array(patch: object, after: object) -> None:
    assert patched({"a": 1, "b": [1, 2]}, patch) == after


@pytest.mark.parametrize(
    "patch",
    [
        _patch("replace", "/b/2", value=3),
        _patch("replace", "/b/-", value=3),
        _patch("remove", "/b/2"),
        _patch("remove", "/b/-"),
        _patch("remove", "/b/x"),
        _patch("add", "/b/3", value=3),
        _patch("add", "/b/01", value=3),
        _patch("add", "/b/²", value=3),
        _patch("add", "/b/99999999999", value=3),
        _patch("test", "/b/2", value=3),
        _patch("copy", "/c", **{"from": "/b/2"}),
        _patch("move", "/b/0/c", **{"from": "/b/0"}),
    ],
)
def test_a_place_that_is_not_there_is_refused(patch: object) -> None:
    with pytest.raises(NoPatch):
        patched({"a": 1, "b": [1, 2]}, patch)


def test_a_total_beside_input_and_output_is_a_problem_unless_it_is_explained() -> None:
    def found(total: int, **more: int) -> list[str]:
        usage = {f"gen_ai__usage__{key}": value for key, value in more.items()}
        call = chat(
            1, [said("user", "Hi")], "Hello",
            gen_ai__usage__input_tokens=10, gen_ai__usage__output_tokens=5, gen_ai__usage__total_tokens=total,
            **usage,
        )  # fmt: skip
        return reasons(rows(agent(), call))

    told = ["the total is not 10 tokens of input and 5 of output"]
    assert found(15) == [] and found(16) == told and found(14) == told
    assert found(18, reasoning__output_tokens=3) == found(15, reasoning__output_tokens=3) == []
    assert found(17, cache_read__input_tokens=2) == found(13, cache_read__input_tokens=2) == []
    assert found(18, cache_read__input_tokens=2) == told


def test_a_total_of_agents_inside_agents_may_leave_out_what_was_cached() -> None:
    def found(total: int) -> list[str]:
        outer = agent(gen_ai__usage__input_tokens=total)
        inner = act("invoke_agent", 1, takes=8, gen_ai__agent__name="bo")
        usage: dict[str, object] = {
            "gen_ai__usage__input_tokens": 10,
            "gen_ai__usage__cache_read__input_tokens": 4,
            "gen_ai__agent__name": "bo",
        }
        own = chat(2, [said("user", "Hi")], "Hello", inside=inner.span_id, **usage)
        again = chat(4, [said("user", "Ho")], "Hello", inside=inner.span_id, **usage)
        return reasons(rows(outer, inner, own, again))

    assert found(20) == found(12) == []
    assert found(21) == found(28) == ["the total is not the sum of the 2 model calls inside: 20"]


def test_results_without_id_are_doubted_only_where_all_calls_have_one() -> None:
    def found(second: str | None) -> list[str]:
        first = chat(1, [said("user", "Hi")], asks("look", {"a": 1}, "c1"), asks("look", {"a": 2}, second))
        told = act(
            "", 3, gen_ai__output__messages=json.dumps([returned(None, "x")]), gen_ai__operation__name="plan"
        )
        return [reason for reason in reasons(rows(agent(), first, told)) if "names no call" in reason]

    assert len(found("c2")) == 1 and found(None) == []


def test_an_answer_that_comes_in_two_messages_gets_its_calls_in_the_last() -> None:
    answer = [said("assistant", "Let me see."), said("assistant", "I look.") | {"name": "orla"}]
    first = act(
        "chat", 1,
        gen_ai__input__messages=json.dumps([said("user", "Hi")]), gen_ai__output__messages=json.dumps(answer),
        gen_ai__agent__name="orla",
    )  # fmt: skip
    retold = [said("user", "Hi"), answer[0], said("assistant", "I look.", asks("look", {"a": 1}, "c1"))]
    second = chat(5, [*retold, returned("c1", "x")], "Done.")
    found = rows(agent(), first, tool(2, "look", {"a": 1}, "x", gen_ai__tool__call__id="c1"), second)
    values = {value.number: json.loads(value.json) for value in found.values if value.json}
    told = [values[number] for number in found.model_calls[0].output_values]
    assert [len(message["parts"]) for message in told] == [1, 2]
    assert [message.get("name") for message in told] == [None, "orla"]


def test_what_cannot_be_interpreted_is_a_run_with_its_times_and_traces() -> None:
    spans = [
        make_span({}, trace_id="b" * 32, started_at=5, ended_at=9, arrived_at=7, sequence=3),
        make_span({}, trace_id="a" * 32, started_at=2, ended_at=4, arrived_at=8, sequence=1),
    ]
    found = broken_run("t", RUN, 7, spans, "Traceback …")
    (run,) = found.runs
    (problem,) = found.problems
    assert (run.tenant, run.run_id, run.generation, run.deleted) == ("t", RUN, 7, False)
    assert (run.started_at, run.newest_ended_at, run.ended_at, run.duration_ms) == (2, 9, None, None)
    assert (run.arrived_at, run.through_sequence) == (8, 3)
    assert (run.trace_ids, run.outcome, run.incomplete_because) == (
        ["a" * 32, "b" * 32],
        "incomplete",
        "not_interpreted",
    )
    assert (run.steps, run.model_calls, run.tool_calls, run.errors, run.problems) == (0, 0, 0, 0, 1)
    assert (problem.span_id, problem.raw, problem.reason) == (None, "", "Traceback …")
    without = broken_run("t", RUN, 7, [], "").runs[0]
    assert (without.started_at, without.newest_ended_at, without.trace_ids) == (0, 0, [RUN])


def test_a_run_whose_spans_went_elsewhere_is_hidden() -> None:
    found = deleted_run("t", RUN, 7)
    (run,) = found.runs
    assert (run.deleted, run.incomplete_because, run.problems, found.problems) == (True, None, 0, [])


def test_a_switch_is_that_of_the_dialect_and_of_the_longest_scope_that_fits() -> None:
    general = switch_for("messages", [("genai", "no.such.scope")])
    own = switch_for("messages", [("genai", "opentelemetry.instrumentation.openai_v2")])
    assert own != general
    of_anybody = switch_for("messages", [("no such dialect", "opentelemetry.instrumentation.openai_v2")])
    assert of_anybody not in (general, own)
    assert switch_for("state", [("genai", "pydantic-ai")]) == switch_for("state", [])


def _trace_ids(*ids: str) -> list[str]:
    spans: list[Span] = [agent()]
    for number, trace_id in enumerate(ids, start=1):
        span = tool(number, inside=f"{1:016x}")
        span.trace_id, span.parent_trace_id = trace_id, RUN
        spans.append(span)
    return rows(*spans).runs[0].trace_ids


def test_the_traces_of_a_run_are_sorted() -> None:
    assert _trace_ids("ff" * 16, "11" * 16, "cc" * 16) == ["11" * 16, RUN, "cc" * 16, "ff" * 16]


def test_the_version_of_an_agent_is_the_first_that_is_said() -> None:
    call = chat(1, [said("user", "Hi")], "Hello", gen_ai__agent__version="2")
    assert rows(agent(gen_ai__agent__version="1.4"), call).runs[0].agent_version == "1.4"
    assert rows(agent(), call).runs[0].agent_version == "2"


@pytest.mark.parametrize(
    ("attributes", "document_ids"),
    [
        ({"gen_ai.retrieval.documents": '[{"id": "a"}]', "output.value": '[{"id": "b"}]'}, {"a"}),
        ({"gen_ai.retrieval.documents": "[]", "output.value": '{"documents": [{"id": "b"}]}'}, {"b"}),
    ],
)
def test_documents_are_those_of_the_first_place_that_holds_some(
    attributes: Mapping[str, Any], document_ids: set[str]
) -> None:
    found = rows(agent(), act("retrieval", 1, **{key.replace(".", "__"): v for key, v in attributes.items()}))
    assert {edge.object for edge in found.edges if edge.object.startswith("document:")} == {
        f"document:{each}" for each in document_ids
    }


def test_what_a_tool_was_given_is_not_what_the_run_was_asked() -> None:
    messages = json.dumps([said("user", "to the tool")])
    given = tool(1, parent_span_id="", gen_ai__input__messages=messages)
    assert rows(given, chat(3, (), "Hello", parent_span_id="")).runs[0].input is None
    step = act("plan", 1, parent_span_id="", gen_ai__input__messages=messages)
    assert rows(step, chat(3, (), "Hello", parent_span_id="")).runs[0].input == "to the tool"


def test_a_first_prompt_has_no_more_results_than_calls() -> None:
    call = asks("look", {"a": 1})
    first = chat(1, [said("user", "Hi"), returned(None, "x")], call)
    last = chat(3, [said("user", "Hi"), said("assistant", call), returned(None, "x")], "Done.")
    assert "a result without id, and fewer calls before it than results" in reasons(
        rows(agent(), first, last)
    )


def test_only_keys_that_are_all_numbers_are_a_list() -> None:
    assert unflatten({"m.0.a.0": 1, "m.0.a.1": 2, "m.0.b.0": 1, "m.0.b.x": 2}, "m") == [
        {"a": [1, 2], "b": {"0": 1, "x": 2}}
    ]


def test_a_run_with_its_whole_history_wants_no_other() -> None:
    run = read_run(RUN, [agent(), chat(1, [said("user", "Hi")], "Hello")])
    assert (run.wants_previous_run, run.used_previous_run) == (False, False)


def test_of_the_prompts_that_retell_an_answer_the_next_one_completes_it() -> None:
    def retold(call_id: str) -> list[dict[str, object]]:
        call = asks("look", {"a": 1}, call_id)
        return [said("user", "Hi"), said("assistant", call), returned(call_id, "x")]

    first = chat(1, [said("user", "Hi")], asks("look", {"a": 1}))
    nameless = chat(3, retold("c1"), "Done.", gen_ai__agent__name="")
    named = chat(5, retold("c2"), "Done.")
    (row, *_) = rows(first, nameless, named).tool_calls
    assert row.tool_call_id == "c1"


def test_a_transcript_is_known_by_one_message_that_only_a_model_says() -> None:
    told = [
        said("user", "Hi"),
        said("assistant", asks("look", {"a": 1}, "c1")),
        returned("c1", "x"),
        said("assistant", "Done."),
    ]
    found = rows(agent(output__value=json.dumps(told)))
    assert (len(found.model_calls), len(found.tool_calls)) == (2, 1)
    assert rows(agent(output__value=json.dumps([told[0], told[3]]))).model_calls == []


def test_what_was_said_before_the_last_question_is_not_an_answer_of_this_run() -> None:
    asked = [said("user", "Go on."), said("assistant", "Gladly."), said("user", "Go on.")]
    told = [*asked, said("assistant", asks("look", {"a": 1}, "c1")), returned("c1", "x")]
    root = agent(gen_ai__input__messages=json.dumps(asked), output__value=json.dumps(told))
    assert len(rows(root).model_calls) == 1


def test_a_response_inside_others_is_found_four_levels_deep_and_no_deeper() -> None:
    inner: dict[str, object] = {"model": "m"}
    for _ in range(4):
        inner = {"raw": inner}
    assert parse_usage(inner).model == "m"
    assert parse_usage({"raw": inner}).model is None
    inner = {"model": "m"}
    for _ in range(4):
        inner = {"generations": [[inner]]}
    assert parse_usage(inner).model == "m"
    assert parse_usage({"generations": [[inner]]}).model is None


def test_a_prompt_of_lists_in_wrappers_is_read() -> None:
    wrapped = json.dumps([{"messages": [{"role": "user", "content": "Hi"}]}])
    (call,) = rows(agent(), act("chat", 1, gen_ai__input__messages=wrapped)).model_calls
    assert len(call.input_values) == 1


@pytest.mark.parametrize(("between", "call_id"), [(NEAR - 1, "c1"), (NEAR, None)])
def test_an_answer_is_completed_by_one_of_the_next_prompts(between: int, call_id: str | None) -> None:
    call = asks("look", {"a": 1}, "c1")
    first = chat(1, [said("user", "Hi")], asks("look", {"a": 1}))
    others = [chat(2 + number, [said("user", f"Other {number}")], "Yes.") for number in range(between)]
    retold = chat(50, [said("user", "Hi"), said("assistant", call), returned("c1", "x")], "Done.")
    assert rows(agent(), first, *others, retold).tool_calls[0].tool_call_id == call_id
