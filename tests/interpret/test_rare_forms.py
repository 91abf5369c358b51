"""Forms that few instrumentations send and that no recording holds, each by a small example."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import SECOND, agent, asks, chat, returned, rows, said, tool
from made_spans import event, make_span

from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY
from retrospan.ingest.interpret.messages.completion import answered_once
from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.messages.message_parts import read_part
from retrospan.ingest.interpret.messages.messages import read_messages
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer, parse_question
from retrospan.ingest.interpret.messages.tool_results import error_of, response_of
from retrospan.ingest.interpret.normalize.operations import operation_of
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.exchange import exchange_by_keys, exchange_by_values
from retrospan.ingest.interpret.spans.span_fields import SpanFields, whole
from retrospan.ingest.interpret.stated.times import read_rfc3339
from retrospan.ingest.interpret.steps.patches import NoPatch, patched


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
        ({"error": "none"}, None),
        ({"error": "null"}, None),
        ({"error": 0.02}, None),
        ({"error": 500}, "500"),
        ({"error": True}, "true"),
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
