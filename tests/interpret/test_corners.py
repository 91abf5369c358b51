"""Corners of the rules that few runs reach, each by a small example."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from made_runs import RUN, act, agent, asks, chat, returned, rows, said, tool
from spans import read_run

from retrospan.ingest.interpret.calls.retelling import _with_text
from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY
from retrospan.ingest.interpret.grouping.grouping import joined_trace
from retrospan.ingest.interpret.lineage.value_lineage import LEAST_NUMBER, _values_in
from retrospan.ingest.interpret.messages.kinds_of_parts import by_role
from retrospan.ingest.interpret.messages.message import parts_of, text_of
from retrospan.ingest.interpret.messages.message_cache import PrefixCache
from retrospan.ingest.interpret.messages.message_parts import read_part
from retrospan.ingest.interpret.messages.messages import read_messages
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer
from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.interpret.normalize.documents import _document
from retrospan.ingest.interpret.spans.span import Event, Link, Span
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.spans.unflatten import unflatten
from retrospan.ingest.interpret.spans.vocabulary import OUTPUT
from retrospan.schemas.hashing import hash_of

OTHER = "cd" * 16


def statuses(*spans: Span) -> list[tuple[str, str]]:
    return [(row.tool_name, row.status) for row in rows(*spans).tool_calls]


@pytest.mark.parametrize(("outer", "inner"), [("Oslo", {"city": "Oslo"}), ({"city": "Oslo"}, "Oslo")])
def test_a_tool_inside_itself_is_one_execution_whichever_unwraps_the_argument(
    outer: object, inner: object
) -> None:
    def sent(arguments: object) -> str:
        return arguments if isinstance(arguments, str) else json.dumps(arguments)

    around = tool(1, gen_ai__tool__call__arguments=sent(outer), takes=3)
    within = tool(2, gen_ai__tool__call__arguments=sent(inner), inside=around.span_id)
    assert len(rows(agent(), around, within).tool_calls) == 1


def test_a_tool_inside_itself_with_other_arguments_is_another_execution() -> None:
    around = tool(1, gen_ai__tool__call__arguments='{"city": "Oslo"}', takes=3)
    within = tool(2, gen_ai__tool__call__arguments='{"city": "Bergen"}', inside=around.span_id)
    assert len(rows(agent(), around, within).tool_calls) == 2


@pytest.mark.parametrize(
    ("held", "failed"),
    [
        ({"type": "tool", "content": "no", "tool_call_id": "7", "status": "error"}, True),
        ({"type": "tool", "content": "no", "tool_call_id": "7", "status": "success"}, False),
    ],
)
def test_a_tool_s_message_says_whether_it_failed(held: dict[str, object], failed: bool) -> None:
    (row,) = rows(agent(), tool(1, gen_ai__tool__call__result=json.dumps(held))).tool_calls
    assert (row.status, row.tool_call_id) == ("error" if failed else "ok", "7")


@pytest.mark.parametrize("call_id", [7, "", None])
def test_an_id_that_is_not_a_text_is_none(call_id: object) -> None:
    held = {"type": "tool", "content": "done", "tool_call_id": call_id}
    (row,) = rows(agent(), tool(1, gen_ai__tool__call__result=json.dumps(held))).tool_calls
    assert row.tool_call_id is None


def test_the_first_link_of_the_oldest_root_is_joined() -> None:
    def root(number: int, to: str) -> Span:
        link = Link(trace_id=to, span_id="1" * 16, attributes={})
        return act("", number, span_id=f"{number:016x}", parent_span_id="", links=[link])

    older, newer = root(1, OTHER), root(2, "ef" * 16)
    assert joined_trace([older, newer], EVERY_FAMILY) == joined_trace([newer, older], EVERY_FAMILY) == OTHER


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"text": "", "content": "held"}, "held"),
        ({"id": "d", "metadata": {"x": 1}}, ""),
        ("plain", "plain"),
        ({"content": {"a": 1}}, '{"a":1}'),
    ],
)
def test_the_text_of_a_document(value: object, text: str) -> None:
    document = _document(value)
    assert document is not None and document.content == text


def test_a_document_without_a_name_is_called_by_its_text() -> None:
    document = _document({"content": "a text"})
    assert document is not None and (document.document_id, document.named) == (hash_of("a text"), False)
    assert _document({"metadata": {}}) is None and _document("") is None


@pytest.mark.parametrize(
    ("blocks", "response"),
    [
        ([{"json": {"a": 1}}], {"a": 1}),
        ([{"json": 1}, {"json": 2}], [1, 2]),
        ([{"json": 1}, {"other": 2}], [{"json": 1}, {"other": 2}]),
        ([{"text": "a", "more": 1, "else": 2}, {"text": "b"}], [{"text": "a", "more": 1, "else": 2}, {"text": "b"}]),
        ([{"type": "text", "text": "a"}, {"text": "b"}], "ab"),
    ],
)  # fmt: skip
def test_blocks_are_one_response_only_when_all_of_them_are_alike(blocks: object, response: object) -> None:
    assert response_of(blocks) == response


def test_what_has_more_than_a_text_is_no_text_block() -> None:
    documents = [{"id": "kb-17", "text": "30 days"}, {"id": "kb-18", "text": "none"}]
    assert response_of(documents) == documents
    assert response_of([{"type": "text", "text": "30"}, {"block_type": "text", "text": " days"}]) == "30 days"
    assert response_of("[{'type': 'text', 'text': '{\"days\": 30}'}]") == {"days": 30}
    for other in ("[{'type': 'text', 'text': '30'", "[{'type': 'text', 'text': '30'}] days", "['30 days']"):
        assert response_of(other) == other
    assert response_of([{"type": "image", "text": "30"}]) == [{"type": "image", "text": "30"}]


def test_values_are_told_in_their_order() -> None:
    assert list(_values_in({"a": "order-1", "b": ["order-2", {"c": "order-3"}], "d": "order-4"})) == [
        "order-1", "order-2", "order-3", "order-4",
    ]  # fmt: skip


def test_a_call_s_id_has_many_names() -> None:
    assert read_part({"tool_name": "look", "arguments": {"a": 1}, "tool_call_id": "7"}) == {
        "type": "tool_call",
        "id": "7",
        "name": "look",
        "arguments": {"a": 1},
    }
    assert read_part({"tool_name": "look", "tool_kwargs": {}, "id": "8"}).get("id") == "8"


@pytest.mark.parametrize("key", ["response", "result", "content", "output"])
def test_what_a_function_gave_back_has_many_names(key: str) -> None:
    assert read_part({"functionResponse": {"id": "7", key: "snow"}}).get("response") == "snow"


def test_a_result_that_names_the_call_it_came_from_is_read() -> None:
    assert read_part({"origin": {"id": "7"}, "result": "snow"}) == {
        "type": "tool_call_response",
        "id": "7",
        "response": "snow",
    }
    assert read_part({"origin": {"id": "7"}, "rest": "snow"}).get("type") == "unknown"


def test_a_part_of_a_kind_that_is_not_known_is_the_model_s() -> None:
    (message,) = by_role({"parts": [{"part_kind": "sketch", "content": "a map"}]}) or []
    assert message == {
        "role": "assistant",
        "parts": [{"part_kind": "sketch", "content": "a map", "type": "sketch"}],
    }


def test_a_text_that_is_told_later_stands_before_the_first_of_several_messages_of_calls() -> None:
    calls = [asks(name, {}, name) for name in ("look", "read")]
    answer = read_messages([said("assistant", call) for call in calls])
    whole = _with_text(answer, read_messages([said("assistant", "I look.", *calls)]))
    assert [text_of(message) for message in whole] == ["I look.", ""]
    assert [[part.get("id") for part in parts_of(message, "tool_call")] for message in whole] == [
        ["look"],
        ["read"],
    ]


def test_the_role_of_an_event_is_the_message_s_own_where_it_says_one() -> None:
    def event(name: str, **held: object) -> Event:
        return Event(name=name, time_ns=1, attributes={"gen_ai.event.content": json.dumps(held)})

    asked = replace(
        act("chat", 1),
        events=[
            event("gen_ai.user.message", content="Hi"),
            event("gen_ai.user.message", content="Rules", role="system"),
            event("gen_ai.choice", message={"content": "Hello"}, index=0),
        ],
    )
    (step,) = read_run("r", [asked]).steps
    assert [message["role"] for message in step.span.input] == ["user", "system"]
    assert [message["role"] for message in step.span.output] == ["assistant"]


def test_of_a_large_value_only_so_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrospan.ingest.interpret.lineage.value_lineage.MOST_VALUES", 3)
    assert list(_values_in(["order-1", "order-2", "order-3"])) == ["order-1", "order-2"]


def test_events_of_messages_are_in_the_order_of_their_times() -> None:
    def event(at: int, content: str) -> Event:
        held = json.dumps({"content": content})
        return Event(name="gen_ai.user.message", time_ns=at, attributes={"gen_ai.event.content": held})

    asked = replace(act("chat", 1), events=[event(2, "And in Bergen?"), event(1, "How is Oslo?")])
    (step,) = read_run("r", [asked]).steps
    assert [text_of(message) for message in step.span.input] == ["How is Oslo?", "And in Bergen?"]


def test_a_text_that_is_repeated_apart_from_its_calls_is_said_once_where_each_message_is_an_event() -> None:
    def event(name: str, **fields: object) -> Event:
        return Event(
            name=f"gen_ai.{name}", time_ns=1, attributes={"gen_ai.event.content": json.dumps(fields)}
        )

    asked = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    first = chat(1, [said("user", "Hi")], "I look.", asks("look", {}, "c1"))
    again = replace(
        act("chat", 3),
        events=[
            event("user.message", content="Hi"),
            event("assistant.message", content="I look."),
            event("assistant.message", tool_calls=[asked]),
            event("tool.message", id="c1", content="snow"),
            event("choice", message={"content": "Snow."}, index=0),
        ],
    )
    (_, call) = rows(agent(), first, again).model_calls
    assert len(call.input_values) == 3
    # The list of messages itself says of each all that was sent.
    apart = [said("assistant", "I look."), said("assistant", asks("look", {}, "c1"))]
    listed = chat(3, [said("user", "Hi"), *apart, returned("c1", "snow")], "Snow.")
    (_, call) = rows(agent(), first, listed).model_calls
    assert len(call.input_values) == 4


def test_a_call_may_be_asked_for_again_by_the_answer_that_was_given_its_result() -> None:
    result = returned("c1", "snow")
    first = chat(1, [result], asks("look", {}, "c1"))
    (_, again) = rows(agent(), first, chat(3, [result, said("user", "Well?")], "Snow.")).model_calls
    assert again.history == "rebuilt"
    assert len(again.input_values) == 3


def test_a_value_is_taken_from_every_place_but_by_its_ending_from_one() -> None:
    sent = act("chat", 1, x__output="a", gen_ai__completion="b", output__value="c")
    places = SpanFields(sent, EVERY_FAMILY)
    assert list(places.each("gen_ai.completion", "output.value", OUTPUT)) == ["b", "c"]
    assert list(SpanFields(act("chat", 1, x__output="a"), EVERY_FAMILY).each("output.value", OUTPUT)) == ["a"]


@pytest.mark.parametrize(
    ("sent", "read"), [('"a"', "a"), ('a"', 'a"'), ('"a', '"a'), ('"', None), ("", None), ("a", "a")]
)
def test_only_a_text_in_quotes_is_unquoted(sent: str, read: str | None) -> None:
    assert SpanFields(act("chat", 1, x=sent), EVERY_FAMILY).text("x") == read


def test_a_parent_that_only_some_children_call_remote_is_missing() -> None:
    def child(number: int, flags: int) -> Span:
        return replace(act("chat", number, inside="9" * 16), flags=flags)

    remote = 0x300  # the flags say that the parent is in another process

    def gap(*spans: Span) -> str | None:
        return rows(*spans).runs[0].incomplete_because

    assert gap(child(1, remote), child(2, 0)) == "missing_parent"
    assert gap(child(1, remote), child(2, remote)) is None


@pytest.mark.parametrize(("said_id", "kept"), [("00000000000000AB", "00000000000000ab"), ("ab", None), ("g" * 16, None), ("0" * 15 + "g", None)])  # fmt: skip
def test_what_an_effect_undoes_is_named_by_a_span_id(said_id: str, kept: str | None) -> None:
    found = rows(agent(), tool(1, retrospan__effect="write", retrospan__compensates=said_id))
    assert found.effects[0].compensates == kept
    assert [problem.field for problem in found.problems] == ([] if kept else ["retrospan.compensates"])


def test_lists_of_lists_of_messages_grow_as_any_other() -> None:
    first = [[{"role": "user", "content": "Hi"}], [{"role": "assistant", "content": "Hello"}]]
    texts = [json.dumps(first), json.dumps([*first, [{"role": "user", "content": "And?"}]])]
    cache = PrefixCache()
    assert [cache.read("k", text, "user") for text in texts] == [read_messages(text) for text in texts]


def test_an_answer_that_is_told_again_with_another_call_stays() -> None:
    """Only an answer all of whose calls are those that got lost makes room for it."""
    first = chat(1, [said("user", "Go")], asks("look", {"a": 1}, "1"))
    other = said("assistant", asks("look", {"a": 1}, "x"), asks("seek", {}, "y"))
    second = chat(3, [said("user", "Go"), other, returned("1", "seen")], "Done")
    found = rows(agent(), first, second)
    values = {value.number: json.loads(value.json or "null") for value in found.values}
    told = [values[number] for number in found.model_calls[1].input_values]
    assert [[part.get("id") for part in message["parts"]] for message in told] == [
        [None], ["x", "y"], ["1"], ["1"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["[", "[1", '[{"role": "user", "content": "H', "", '{"role": "user", "content": "Hi"}', "x"]
)
def test_what_is_no_longer_list_is_read_by_itself(text: str) -> None:
    cache = PrefixCache()
    cache.read("k", '[{"role": "user", "content": "Hi"}]', "user")
    assert cache.read("k", text, "user") == PrefixCache().read("k", text, "user")


@pytest.mark.parametrize(
    "first", ['{"role": "user", "content": "Hi"}', "[]", '[{"role": "user", "content": "Hi"}] ']
)
def test_what_is_not_a_list_with_something_in_it_is_not_gone_on_with(first: str) -> None:
    longer = '[{"role": "user", "content": "Hi"}, {"role": "user", "content": "And?"}]'
    cache = PrefixCache()
    cache.read("k", first, "user")
    assert cache.read("k", longer, "user") == read_messages(longer)


def test_a_link_to_the_run_itself_says_nothing() -> None:
    def linked(to: str, **more: Any) -> Span:
        link = Link(trace_id=to, span_id="1" * 16, attributes={"retrospan.link.type": "forks"})
        return agent(links=[link], **more)

    itself = rows(linked(RUN))
    assert (itself.runs[0].parent_run_id, itself.edges) == (None, [])
    other = rows(linked(OTHER, retrospan__fork__step=1), chat(1, [], "Hi"))
    assert other.runs[0].parent_run_id == OTHER
    assert {edge.object for edge in other.edges if edge.role == "forks"} == {f"step:{OTHER}/1"}
    plain = rows(linked(OTHER), chat(1, [], "Hi"))
    assert {edge.object for edge in plain.edges if edge.role == "forks"} == {f"run:{OTHER}"}


def test_the_inner_span_says_that_the_provider_keeps_the_history() -> None:
    outer = chat(1, [said("user", "Go")], "Hi", takes=3)
    inner = chat(2, [], "Hi", inside=outer.span_id, openai__api__type="responses")
    (step,) = read_run("r", [agent(), outer, inner]).steps
    assert step.span.stores_history


def test_an_index_too_large_for_a_list_is_not_one() -> None:
    attributes = {"m.1.role": "user", f"m.{'9' * 10}.role": "user", "m.x.role": "user"}
    assert unflatten(attributes, "m") == [{"role": "user"}]


def test_numbers_are_told_again_from_a_size_on_and_truth_never() -> None:
    assert list(_values_in([True, LEAST_NUMBER, -LEAST_NUMBER, LEAST_NUMBER - 1, 1.5])) == [
        str(LEAST_NUMBER), str(-LEAST_NUMBER),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [("Done.", "Done."), ("AIMessage(content='Done.')", "Done."), ('{"content": "Done."}', "Done."), ("Really (yes)", "Really (yes)")],
)  # fmt: skip
def test_an_answer_is_a_text_or_what_it_prints(value: str, text: str) -> None:
    (message,) = parse_answer(value)
    assert (message["role"], message["parts"]) == ("assistant", [{"type": "text", "content": text}])


def test_the_name_of_an_agent_is_that_of_the_root_that_is_one() -> None:
    before = act("", 0, parent_span_id="", gen_ai__agent__name="other")
    assert rows(before, agent(), chat(1, [], "Hi")).runs[0].agent_name == "orla"
