"""Noise moves no key; everything else does, and the field is named."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations
from typing import cast

import pytest
from bundle.bundles import (
    HISTORIES,
    JSON,
    MODEL_CALLS,
    TEXT,
    call_part,
    message,
    response_part,
    text_part,
    weather_run,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from retrospan.schemas.bundle.canonical import (
    CanonicalRequest,
    canonical_of,
    canonical_request,
    key_of,
    tool_key,
)
from retrospan.schemas.bundle.difference import (
    ABSENT,
    first_difference,
    first_difference_of_arguments,
    nearest,
)
from retrospan.schemas.bundle.form import Json, Message, ModelCall
from retrospan.schemas.bundle.sameness import canonical_data
from retrospan.schemas.hashing import canonical_json

PROPERTY = settings(max_examples=80, deadline=None)
QUESTION = message("user", text_part("How is the weather?"))
FULL = weather_run().model_calls()[1]
ASKED, CALLED, TOLD = FULL.messages or (QUESTION,) * 3


def request(**changed: object) -> CanonicalRequest:
    return canonical_of(replace(FULL, **changed))  # type: ignore[arg-type]  # a test names what it changes


def shuffled(value: Json, chance: random.Random) -> Json:
    """The same value with its keys in another order, and ids of calls renamed."""
    if isinstance(value, Mapping):
        keys = list(value)
        chance.shuffle(keys)
        is_call = value.get("type") in ("tool_call", "tool_call_response")
        return {
            key: f"other-{value[key]}" if is_call and key == "id" else shuffled(value[key], chance)
            for key in keys
        }
    if isinstance(value, list | tuple):
        return [shuffled(each, chance) for each in value]
    return value


@given(HISTORIES, st.randoms(use_true_random=False))
@PROPERTY
def test_keys_are_not_moved_by_ids_the_order_of_keys_and_white_space(
    history: tuple[Message, ...], chance: random.Random
) -> None:
    # Ids inside arguments are values.
    other = [cast(Message, shuffled(each, chance)) for each in history]
    for one in other:
        for part in cast("list[dict[str, Json]]", one["parts"]):
            if part["type"] == "text":
                part["content"] = f" \n{part['content']}\t "
            if part["type"] in ("tool_call", "tool_call_response"):
                name = "arguments" if part["type"] == "tool_call" else "response"
                before = next(each for each, twin in zip(history, other, strict=True) if twin is one)
                place = cast("list[Json]", one["parts"]).index(part)
                part[name] = cast("list[dict[str, Json]]", before["parts"])[place][name]
    recorded = canonical_request(system=(), messages=history)
    asked = canonical_request(messages=other)
    assert key_of(asked, recorded.held()) == recorded.key()
    assert first_difference(recorded, asked) is None


@given(MODEL_CALLS, MODEL_CALLS)
@PROPERTY
def test_keys_are_equal_exactly_where_no_field_differs(one: ModelCall, other: ModelCall) -> None:
    recorded, asked = canonical_of(one), canonical_of(other)
    same_key = key_of(asked, recorded.held()) == recorded.key()
    assert same_key == (first_difference(recorded, asked) is None)
    assert key_of(recorded, recorded.held()) == recorded.key()


@given(st.data())
@PROPERTY
def test_a_changed_field_is_named(data: st.DataObject) -> None:
    changes: dict[str, object] = {
        "model": "gpt-6",
        "parameters.temperature": {"temperature": data.draw(st.floats(0.6, 2))},
        "system[0].content": (message("system", text_part(f"Be brief. {data.draw(TEXT)}")),),
        "tools.get_weather.description": (
            {
                "name": "get_weather",
                "description": f"New {data.draw(TEXT)}",
                "parameters": {"type": "object"},
            },
        ),
        "messages[0].parts[0].content": (
            message("user", text_part(f"What? {data.draw(TEXT)}")),
            CALLED,
            TOLD,
        ),
        "messages[1].parts[0].arguments.city": (
            ASKED,
            message("assistant", call_part("c", "get_weather", {"city": f"Lyon {data.draw(TEXT)}"})),
            TOLD,
        ),
    }
    field = data.draw(st.sampled_from(sorted(changes)))
    name = field.partition(".")[0].partition("[")[0]
    asked = request(**{name: changes[field]})
    difference = first_difference(canonical_of(FULL), asked)
    assert difference is not None and difference.field == field
    assert difference.told().startswith(f"{field}: recorded ")
    assert key_of(asked, canonical_of(FULL).held()) != canonical_of(FULL).key()


def test_what_the_record_does_not_hold_is_not_compared_and_said() -> None:
    recorded = request(tools=None, parameters=None, model=None)
    assert recorded.held().not_compared() == ["model", "parameters", "tools"]
    assert first_difference(recorded, canonical_of(FULL)) is None
    assert key_of(canonical_of(FULL), recorded.held()) == recorded.key()
    names_only = request(tools=("get_weather",))
    assert names_only.held().not_compared() == ["description of tools", "parameters of tools"]
    assert first_difference(names_only, canonical_of(FULL)) is None
    renamed = request(tools=("get_climate",))
    difference = first_difference(names_only, renamed)
    assert difference is not None and difference.field == "tools.get_weather"


def test_a_record_of_no_system_prompt_and_no_tools_is_not_one_without_them() -> None:
    recorded = canonical_request(system=(), messages=[QUESTION], tools=[])
    asked = canonical_request(messages=[message("system", text_part("Be kind.")), QUESTION])
    difference = first_difference(recorded, asked)
    assert difference is not None and (difference.field, difference.recorded) == ("system[0]", ABSENT)
    difference = first_difference(recorded, canonical_request(messages=[QUESTION], tools=["search"]))
    assert difference is not None and difference.field == "tools.search"


def same(one: list[Message], other: list[Message]) -> bool:
    recorded = canonical_request(system=(), messages=one)
    return key_of(canonical_request(messages=other), recorded.held()) == recorded.key()


def test_the_same_request_in_the_forms_of_several_providers() -> None:
    assert canonical_request(system=[message("system", text_part("Be kind."))], messages=[QUESTION]) == (
        canonical_request(messages=[message("developer", text_part("Be kind. ")), QUESTION])
    )
    asks = call_part("c1", "f", '{"a": 1.0, "b": [1e2]}')
    assert same(
        [QUESTION, message("assistant", text_part("Let me look.")), message("assistant", asks)],
        [QUESTION, message("ai", text_part("Let me look."), call_part("x", "f", {"b": [100], "a": 1}))],
    )
    # One provider's answers of tools are a user's message, with what the user says next.
    assert same(
        [message("user", response_part("c1", "42"), response_part("c2", '{"x": null}'), text_part("And?"))],
        [
            message("tool", response_part("k", [{"type": "text", "text": "42"}])),
            message("tool", response_part("l", {"x": None})),
            message("user", text_part("And?")),
        ],
    )
    assert same([message("user", text_part("a"), text_part("b"))], [message("user", text_part("a\nb"))])
    assert same(
        [message("user", text_part("a"))],
        [message("user", {"type": "reasoning", "content": "x"}, text_part("a"))],
    )


def test_what_is_not_the_same() -> None:
    def with_argument(value: Json) -> list[Message]:
        return [message("assistant", call_part("c", "f", {"a": value}))]

    pairs: list[tuple[Json, Json]] = [
        (True, 1),
        (False, 0),
        (1, "1"),
        (None, ""),
        (1.5, 1),
        ({}, []),
        (None, 0),
        ("a", " a"),
    ]
    for one, other in pairs:
        assert not same(with_argument(one), with_argument(other)), (one, other)
    assert not same([QUESTION], [QUESTION, QUESTION])
    assert not same([message("user", text_part("a"))], [message("assistant", text_part("a"))])
    # The ids of calls are names: which response belongs to which call is not noise.
    two_calls = message("assistant", call_part("a", "f", 1), call_part("b", "f", 2))
    assert not same(
        [two_calls, message("tool", response_part("a", 1)), message("tool", response_part("b", 2))],
        [two_calls, message("tool", response_part("b", 1)), message("tool", response_part("a", 2))],
    )


def test_calls_beside_each_other_end_in_any_order() -> None:
    calls = [call_part(name, "f", name) for name in "abc"]
    asked = message("assistant", *calls)
    told = [message("tool", response_part(name, f"of {name}")) for name in "abc"]
    after = message("user", text_part("and?"))
    for order in permutations(told):
        assert same([asked, *told], [asked, *order])
        assert same([asked, *told, after], [asked, *order, after])
        responses = [part for each in order for part in cast("list[dict[str, Json]]", each["parts"])]
        assert same([asked, *told], [asked, message("tool", *responses)])
    # Not across what was said between them, and not of responses whose calls are not known.
    assert not same([asked, told[0], after, told[1]], [asked, told[1], after, told[0]])
    nameless: list[Message] = [
        message("tool", {"type": "tool_call_response", "response": name}) for name in "ab"
    ]
    assert not same(nameless, nameless[::-1])


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}},
        {
            "type": "function",
            "name": "f",
            "description": "d",
            "parameters": {"type": "object"},
            "strict": True,
        },
        {"name": "f", "description": " d\n", "input_schema": {"type": "object", "title": "F"}},
        {"function_declarations": [{"name": "f", "description": "d", "parameters": {"type": "OBJECT"}}]},
        {"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": {"type": "object"}}}},
        {"name": "f", "description": "d", "parameters": '{"type": "object", "additionalProperties": false}'},
    ],
)
def test_a_tool_in_the_form_of_any_provider(tool: Json) -> None:
    expected = {"name": "f", "description": "d", "parameters": {"type": "object"}}
    assert canonical_request(tools=[tool]).tools == [expected]


def test_a_property_may_be_called_title() -> None:
    schema = {
        "title": "F",
        "properties": {"title": {"title": "Title", "type": "string"}},
        "required": ["b", "a"],
    }
    tools = canonical_request(tools=[{"name": "f", "parameters": schema}]).tools
    expected = {"properties": {"title": {"type": "string"}}, "required": ["a", "b"]}
    assert tools == [{"name": "f", "parameters": expected}]


def test_parameters_go_by_one_name_and_others_are_noise() -> None:
    recorded = canonical_request(
        parameters={"max_tokens": 10, "stop_sequences": ["x"], "user": "u", "stream": True}
    )
    assert recorded.parameters == {"max_tokens": 10, "stop": ["x"]}
    asked = canonical_request(parameters={"maxOutputTokens": 10.0, "stop": "x", "temperature": 1})
    assert first_difference(recorded, asked) is None
    difference = first_difference(recorded, canonical_request(parameters={"stop": "x"}))
    assert difference is not None
    assert difference.told() == "parameters.max_tokens: recorded 10, asked (nothing)"


def test_a_parameter_that_was_recorded_as_not_given_was_not_sent() -> None:
    recorded = canonical_request(messages=[QUESTION], parameters={"top_k": "NOT_GIVEN", "seed": 3})
    assert recorded.parameters == {"seed": 3}


def test_what_is_usual_is_the_same_whether_it_is_sent_or_not() -> None:
    recorded = canonical_request(
        parameters={"temperature": 1.0, "tool_choice": "auto", "parallel_tool_calls": True}
    )
    assert first_difference(recorded, canonical_request(parameters={})) is None
    assert key_of(canonical_request(parameters=None), recorded.held()) == recorded.key()
    difference = first_difference(recorded, canonical_request(parameters={"temperature": 0.2}))
    assert difference is not None and difference.told() == "parameters.temperature: recorded 1, asked 0.2"
    recorded = canonical_request(parameters={"temperature": 0.2})
    difference = first_difference(recorded, canonical_request(parameters={}))
    assert (
        difference is not None
        and difference.told() == "parameters.temperature: recorded 0.2, asked (nothing)"
    )


def test_a_model_without_a_day_is_any_of_its_days() -> None:
    recorded = canonical_request(model="gpt-5-2026-03-01")
    assert key_of(canonical_request(model="gpt-5"), recorded.held()) == recorded.key()
    for other in ("gpt-5-2026-09-30", "gpt-6", None):
        assert first_difference(recorded, canonical_request(model=other)) is not None
    another = first_difference(recorded, canonical_request(model="gpt-6"))
    assert another is not None
    assert another.told() == 'model: recorded "gpt-5-2026-03-01", asked "gpt-6"', (
        "no day that was not asked for"
    )
    pinned = first_difference(canonical_request(model="gpt-5"), recorded)
    assert pinned is not None and pinned.field == "model"


def test_a_provider_before_the_model_is_noise() -> None:
    assert canonical_request(model="models/gemini-3").key() == canonical_request(model="gemini-3").key()


@given(JSON)
@PROPERTY
def test_reading_data_again_changes_nothing_and_text_of_it_is_the_same(value: Json) -> None:
    once = canonical_data(value)
    assert canonical_json(canonical_data(once)) == canonical_json(once)
    assert canonical_json(canonical_data(canonical_json(value).decode())) == canonical_json(once)


@given(JSON, JSON)
@PROPERTY
def test_keys_of_tools_are_equal_exactly_where_no_argument_differs(one: Json, other: Json) -> None:
    difference = first_difference_of_arguments("f", one, other)
    assert (tool_key("f", one) == tool_key("f", other)) == (difference is None)
    assert tool_key("f", one) != tool_key("g", one)


def test_the_nearest_call_is_told_with_the_place_in_a_long_text() -> None:
    prefix = "The same beginning of a long prompt, " * 20
    calls = [
        request(model="other", messages=(QUESTION,)),
        request(messages=(QUESTION, message("assistant", text_part(f"{prefix}yesterday.")))),
        request(messages=(message("user", text_part("Something else")),)),
    ]
    asked = request(messages=(QUESTION, message("assistant", text_part(f"{prefix}today."))))
    found = nearest(calls, asked)
    assert found is not None and found.place == 1 and found.difference is not None
    assert found.difference.field == "messages[1].parts[0].content"
    told = found.difference.told()
    assert "yesterday" in told and "today" in told and len(told) < 300
    assert nearest([], asked) is None


@pytest.mark.parametrize("depth", [201, 480, 900, 5_000])
def test_what_nests_deeper_than_anything_meant_is_compared_as_text(depth: int) -> None:
    one, other = ("[" * depth + f"{n}" + "]" * depth for n in (1, 2))
    assert canonical_data(one) == one
    assert first_difference_of_arguments("search", one, one) is None
    found = first_difference_of_arguments("search", one, other)
    assert found is not None and found.recorded == one


def test_an_error_is_the_same_with_and_without_its_envelope() -> None:
    call = message("assistant", call_part("a", "f", 1))

    def told(response: Json) -> list[Message]:
        return [call, message("tool", response_part("a", response))]

    assert same(told("it is locked"), told({"error": "it is locked"}))
    assert same(told("it is locked"), told('{"error":"it is locked"}'))
    assert not same(told("it is locked"), told({"error": "it is open"}))
    assert not same(told("it is locked"), told({"error": "it is locked", "code": 1}))
    # What a model wrote stays as it is.
    assert not same(
        [message("assistant", call_part("a", "f", "x"))],
        [message("assistant", call_part("a", "f", {"error": "x"}))],
    )


def test_ids_and_defaults_that_the_record_does_not_hold_are_not_compared() -> None:
    def asked(call_id: str | None, default: Json = ABSENT, name: str = "f") -> CanonicalRequest:
        schema: dict[str, Json] = {"type": "object", "properties": {"default": {"type": "integer"}}}
        if default is not ABSENT:
            cast("dict[str, dict[str, Json]]", schema["properties"])["default"]["default"] = default
        call: dict[str, Json] = {"type": "tool_call", "id": call_id, "name": name, "arguments": {}}
        told = {"type": "tool_call_response", "id": call_id, "response": 1}
        messages = [message("assistant", call), message("tool", told)]
        return canonical_request(messages=messages, tools=[{"name": "f", "parameters": schema}])

    def is_same(recorded: CanonicalRequest, now: CanonicalRequest) -> bool:
        found = key_of(now, recorded.held()) == recorded.key()
        assert found == (first_difference(recorded, now) is None)
        return found

    assert is_same(asked(None), asked("call_1"))
    assert not is_same(asked("call_1"), asked(None)), "only the record may lack them"
    assert not is_same(asked(None), asked("call_1", name="g"))
    assert asked(None).held().not_compared()[-1] == "ids of calls"
    assert is_same(asked("a"), asked("a", 2)) and is_same(asked("a", 2), asked("a", 2))
    assert not is_same(asked("a", 2), asked("a", 3)) and not is_same(asked("a", 2), asked("a"))
    assert not is_same(canonical_request(messages=[], tools=[]), canonical_request(messages=[], tools=["f"]))
