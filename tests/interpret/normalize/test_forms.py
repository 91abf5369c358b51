"""How what a span says is read, where more than one reading would do: a rule, a small span."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.messages.message_cache import PrefixCache
from retrospan.ingest.interpret.messages.messages import read_message, read_messages
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.pyrepr import MAX_CHARS, read_repr
from retrospan.ingest.interpret.spans.unflatten import leaves_of, missing_indexes, unflatten
from retrospan.ingest.json_text import Unreadable
from retrospan.schemas.hashing import hash_of
from retrospan.schemas.references import VERSION_OF


@pytest.mark.parametrize(
    ("given", "equal"),
    [
        ({"q": "a"}, True),
        ("a", True),
        ('{"q": "a"}', True),
        ("{'q': 'a'}", True),
        ({"kwargs": {"q": "a"}}, True),
        ({"input_str": "{'q': 'a'}"}, True),
        ({"1": {"2": {"3": {"q": "a"}}}}, True),
        ({"1": {"2": {"3": {"4": {"q": "a"}}}}}, False),
        ({"q": "b"}, False),
        ("b", False),
        ({}, False),
        (None, False),
    ],
)
def test_arguments_are_the_same_also_when_a_framework_unwraps_or_wraps_them(
    given: object, equal: bool
) -> None:
    assert same_arguments(given, {"q": "a"}) is equal


def test_of_several_arguments_none_stands_for_all() -> None:
    assert not same_arguments("a", {"q": "a", "n": 1})
    assert same_arguments("1", {"n": 1})
    assert not same_arguments({"a": 1}, {"q": {"a": 1}})
    assert not same_arguments({"kwargs": {}}, {})
    assert same_arguments({}, {})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("send", "send", True),
        ("mail.send", "send", True),
        ("send", "mail__send", True),
        ("resend", "send", False),
        ("send.mail", "send", False),
        ("mail.send", "", False),
        ("a.c", "abc", False),
    ],
)
def test_a_tool_s_name_may_have_its_origin_before_it(one: str, other: str, same: bool) -> None:
    assert is_same_tool(one, other) is same
    assert is_same_tool(other, one) is same


@pytest.mark.parametrize("backwards", [False, True])
def test_a_leaf_that_is_also_a_branch_loses_to_the_branch(backwards: bool) -> None:
    attributes = {"p.0.a.b": 1, "p.0.a.b.c": 2, "p.0.a.d": 3}
    pairs = reversed(attributes.items()) if backwards else attributes.items()
    assert unflatten(dict(pairs), "p") == [{"a": {"b": {"c": 2}, "d": 3}}]


def test_indexes_are_numbers_and_holes_are_told() -> None:
    attributes = {f"p.{index}.x.{index}": index for index in (10, 2, 3)}
    assert unflatten(attributes, "p") == [{"x": [2]}, {"x": [3]}, {"x": [10]}]
    assert missing_indexes(leaves_of(attributes, "p")) == "0-1, 4-9"
    assert missing_indexes(leaves_of({"p.0.x": 1, "p.2.x": 1, "q.9.x": 1}, "p")) == "1"
    assert missing_indexes(leaves_of({"p.0": 1, "p.1": 1, "p.x": 1}, "p")) == ""


def test_an_indexed_message_that_comes_again_is_one_object_if_it_is_the_same() -> None:
    known = PrefixCache()

    def read(*leaves: tuple[str, object]) -> Message | None:
        return known.indexed(leaves, "user", read_message)

    first = read(("content", "Hi"))
    assert first == {"role": "user", "parts": [{"type": "text", "content": "Hi"}]}
    assert read(("content", "Hi")) is first
    assert read(("content", "Hi"), ("role", "assistant")) != first
    # Equal keys that are other values, and values that cannot be keys.
    flags = [read(("content", "Hi"), ("role", "tool"), ("error", flag)) for flag in (1, True, 1)]
    assert [bool(told and "is_error" in told["parts"][0]) for told in flags] == [False, True, False]
    assert read(("content", "Hi"), ("x", ["a"])) == first


def test_only_what_python_prints_whole_is_read_and_nothing_long() -> None:
    assert read_repr("F(a=1, _b='x')") == {"a": 1, "b": "x"}
    assert read_repr("[1, -2, <Kind.A: 'a'>]") == [1, -2, "a"]
    assert read_repr("F(1, a=2)") == {"a": 2, "args": [1]}
    for text in ("12", "'text'", "F(a=b)", "F(a=1", "[" + "1," * (MAX_CHARS // 2) + "]"):
        assert isinstance(read_repr(text), Unreadable), text[:20]


def roles(value: object, role: str = "user") -> list[tuple[str, list[object]]]:
    return [(message["role"], [part["type"] for part in _parts(message)]) for message in _read(value, role)]


def _read(value: object, role: str) -> list[Any]:
    return list(read_messages(value, role))


def _parts(message: Any) -> list[Any]:
    return list(message["parts"])


RESULT = {"type": "tool_call_response", "id": "c1", "response": 1}


def test_a_user_message_of_nothing_but_results_is_the_tool_s() -> None:
    assert roles({"role": "user", "parts": [RESULT, RESULT]}) == [("tool", ["tool_call_response"] * 2)]
    mixed = {"role": "user", "parts": [RESULT, {"type": "text", "content": "And?"}]}
    assert roles(mixed) == [("user", ["tool_call_response", "text"])]
    assert roles({"role": "assistant", "parts": [RESULT]}) == [("assistant", ["tool_call_response"])]


def test_messages_are_found_in_lists_of_lists_and_in_wrappers() -> None:
    hi = {"role": "user", "content": "Hi"}
    found = [("user", ["text"])]
    for value in (
        hi,
        [hi],
        [[hi]],
        {"messages": [hi]},
        {"messages": "Hi"},
        "Hi",
        {"type": "human", "data": {"content": "Hi"}},
    ):
        assert roles(value) == found, value
    assert roles([[hi], hi]) == found * 2
    assert roles([]) == roles("") == roles({"role": "assistant", "content": ""}) == roles(7) == []
    assert roles({"role": "user", "content": ""}) == found
    assert roles({"role": "user", "content": None}) == roles({"role": "user"}) == []
    assert roles("Hi", "assistant") == [("assistant", ["text"])]


def test_text_stands_before_the_calls_of_one_message() -> None:
    call = {"type": "tool_call", "id": "c1", "name": "t", "arguments": {}}
    parts = [call, {"type": "text", "content": "Let me see."}, {"type": "text", "content": ""}]
    assert roles({"role": "assistant", "parts": parts}) == [("assistant", ["text", "tool_call"])]


def documents(span: Any) -> list[str]:
    """Return the documents that a span used, without the hashes of what it was returned of them."""
    return [
        edge.object.partition("@")[0]
        for edge in rows(agent(), span).edges
        if edge.relation == "used" and edge.role == "document"
    ]


def retrieval(**more: Any) -> Any:
    return act("", 1, openinference__span__kind="RETRIEVER", **more)


def test_the_first_place_that_holds_documents_is_the_one() -> None:
    listed = {"retrieval.documents.0.document.id": "a", "retrieval.documents.0.document.content": "A"}
    returned_ = {"output__value": json.dumps({"documents": [{"id": "b", "content": "B"}]})}
    both = retrieval(**returned_)
    both.attributes = {**both.attributes, **listed}
    assert documents(both) == ["document:a"]
    assert documents(retrieval(**returned_)) == ["document:b"]


def test_a_document_needs_an_id_or_a_text() -> None:
    found = documents(
        retrieval(output__value=json.dumps([{"id": "a"}, {"content": "B"}, {"score": 1}, {"id": ""}]))
    )
    assert len(found) == 2 and found[0] == "document:a"
    assert documents(retrieval(output__value=json.dumps([{"metadata": {"source": "s"}, "text": "T"}]))) == [
        "document:s"
    ]
    assert (
        documents(retrieval(output__value=json.dumps([{"id": 7, "text": "T"}, {"id": 7, "text": "U"}])))
        == ["document:7"] * 2
    ), "two texts of one id are two"
    assert documents(
        retrieval(output__value=json.dumps([{"id": 7, "text": "T"}, {"id": 7, "text": "T"}]))
    ) == ["document:7"]


def test_a_document_is_known_by_its_store_its_id_and_the_hash_of_its_content() -> None:
    found = json.dumps([{"id": "a/b@c", "content": "A"}, {"id": "d"}, {"content": "E"}])
    edges = rows(agent(), retrieval(output__value=found, gen_ai__data_source__id="kb")).edges
    named = {edge.object for edge in edges if edge.role == "document"}
    exact = f"document:kb/a%2Fb%40c@{hash_of('A')}"
    assert named == {exact, "document:kb/d", f"document:{hash_of('E')}"}
    less = {(edge.subject, edge.relation, edge.object) for edge in edges if edge.role == VERSION_OF}
    assert less == {
        (exact, "wasDerivedFrom", "document:kb/a%2Fb%40c"),
        (exact, "wasDerivedFrom", "document:a%2Fb@c"),
        ("document:kb/d", "wasDerivedFrom", "document:d"),
    }
    crossings = {(row.reference, row.side) for row in rows(agent(), retrieval(output__value=found)).crossings}
    assert (f"document:a%2Fb%40c@{hash_of('A')}", "object") in crossings
    assert ("document:a%2Fb@c", "object") in crossings, "whoever knows the id alone finds the run"
    assert not any(side == "subject" for reference, side in crossings if reference.startswith("document:"))


def test_what_a_tool_returned_is_a_document_only_where_it_is_called_one() -> None:
    hits = [{"doc_id": "a", "text": "A", "n": 1}, {"id": "b", "text": "B", "n": 2}]
    assert documents(tool(1, result=hits)) == documents(tool(1, result={"hits": hits})) == ["document:a"]
    assert documents(tool(1, result={"document_id": "c"})) == ["document:c"]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"gen_ai__usage__input_tokens": 10}, (10, None, None)),
        ({"gen_ai__usage__prompt_tokens": 10, "gen_ai__usage__completion_tokens": 0}, (10, 0, None)),
        ({"gen_ai__usage__input_tokens": 10, "llm__usage__prompt_tokens": 11}, (10, None, None)),
        ({"gen_ai__usage__input_tokens": -1}, (None, None, None)),
        ({"input_tokens": 10, "cache_read_tokens": 4, "cache_creation_tokens": 2}, (16, None, 4)),
    ],
)
def test_tokens_are_counted_once(attributes: dict[str, object], expected: tuple[int | None, ...]) -> None:
    (call,) = rows(agent(), chat(1, [said("user", "Hi")], "Done.", **attributes)).model_calls
    assert (call.input_tokens, call.output_tokens, call.cached_tokens) == expected


def test_where_a_request_was_sent_is_not_a_parameter_of_it() -> None:
    """Two runs on two machines are not told apart by it."""
    given = {"temperature": 0, "base_url": "http://10.0.0.7:8000/v1", "api_base": "HTTPS://api.example/v1"}
    spoken = {**given, "seed": 3, "stop": ["http://a"], "suffix": "see http://a"}
    in_one = {"llm__invocation_parameters": json.dumps(spoken)}
    each = {f"gen_ai__request__{name}": value for name, value in given.items()}
    for told, left in ((in_one, {"temperature", "seed", "stop", "suffix"}), (each, {"temperature"})):
        (row,) = rows(agent(), chat(1, [said("user", "Hi")], "Done.", **told)).model_calls
        assert {*json.loads(row.parameters)} == left


@pytest.mark.parametrize(
    ("provider", "said_total", "expected"),
    [
        ("anthropic", None, 70),
        ("aws.bedrock", None, 70),
        ("openai", None, 10),  # it counts what was cached in its input: what is more is known of no bucket
        ("azure.ai.openai", None, 10),
        ("openai", 73, 70),  # the total tells it
        ("anthropic", 99, 10),
    ],
)
def test_what_was_cached_is_added_where_the_input_may_leave_it_out(
    provider: str, said_total: int | None, expected: int
) -> None:
    used = {
        "gen_ai__provider__name": provider,
        "gen_ai__usage__input_tokens": 10,
        "gen_ai__usage__cache_read__input_tokens": 60,
        "gen_ai__usage__output_tokens": 3,
        **({"gen_ai__usage__total_tokens": said_total} if said_total else {}),
    }
    (call,) = rows(agent(), chat(1, [said("user", "Hi")], "Done.", **used)).model_calls
    assert (call.input_tokens, call.cached_tokens) == (expected, 60)


def test_what_follows_from_a_span_s_own_words_goes_before_what_it_holds() -> None:
    found = rows(
        agent(),
        chat(1, [said("user", "Hi")], asks("search", {}, "c1")),
        act(
            "",
            3,
            name="ai.toolCall",
            operation__name="ai.toolCall",
            ai__operationId="ai.toolCall",
            ai__toolCall__name="search",
        ),
        chat(5, [said("user", "Hi"), returned("c1", 1)], "Done."),
    )
    assert [step.step_kind for step in found.steps] == ["model", "tool", "model"]


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("ai.generateText.doGenerate", "inference"),
        ("ai.streamText.doStream", "inference"),
        ("ai.generateText", "agent"),
        ("ai.toolCall", "tool"),
        ("ai.embed.doEmbed", "embedding"),
        ("ai.embedMany", "embedding"),
        ("ai.rerank", "rerank"),
    ],
)
def test_operations_of_the_vercel_ai_sdk(operation: str, kind: str) -> None:
    (reading,) = read_spans([act("", 1, name=operation, ai__operationId=operation)], ParseIssues())
    assert reading.operation == kind


@pytest.mark.parametrize("kind", ["reasoning", "thinking"])
def test_thoughts_have_two_names(kind: str) -> None:
    found = read_message({"role": "assistant", "content": [{"type": kind, kind: "Oslo is cold."}]})
    assert found is not None
    assert found["parts"] == [{"type": "reasoning", "content": "Oslo is cold."}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Oslo", "not a printed Python object"),
        ("{" + "0" * MAX_CHARS, "not a printed Python object"),
        ("Oslo(Norway", "not a printed Python object: SyntaxError"),
    ],
)
def test_why_a_text_is_not_a_printed_object_is_told(text: str, reason: str) -> None:
    assert read_repr(text) == Unreadable(reason)


def test_only_a_printed_message_with_a_content_says_by_its_class_who_speaks() -> None:
    assert read_repr("AIMessage(content='Hi')") == {"type": "AIMessage", "content": "Hi"}
    assert read_repr("AIMessageChunk(content='Hi')") == {"type": "AIMessage", "content": "Hi"}
    assert read_repr("RemoveMessage(id='m1')") == {"id": "m1"}
    assert read_repr("Document(content='Hi')") == {"content": "Hi"}
    assert read_repr("ChatMessage(role='user', content='Hi')") == {"role": "user", "content": "Hi"}
