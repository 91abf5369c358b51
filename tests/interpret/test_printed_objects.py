"""What JavaScript and Rust print of messages: read where it is whole, and where nothing that was said can pass for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from weather_question import ANSWER, GIVEN, QUESTION, RETURNED, SYSTEM, model_span, require_whole, tool_span

from retrospan.ingest.interpret.spans.printed import read_printed
from retrospan.ingest.json_text import Unreadable

_GIVEN, _RETURNED = json.dumps(GIVEN), json.dumps(RETURNED)
_RUST_GIVEN, _RUST_RETURNED = json.dumps(_GIVEN), json.dumps(_RETURNED)
#: The question, the call, its result and the answer.
_SCRIPT = (
    f"{{ role: 'system', content: '{SYSTEM}' }}, {{ role: 'user', content: '{QUESTION}' }}",
    (
        "{ role: 'assistant', content: null, refusal: undefined, tool_calls: [ { id: 'c1', type: 'function', "
        f"function: {{ name: 'get_weather', arguments: '{_GIVEN}' }} }} ] }}"
    ),
    f"{{ role: 'tool', tool_call_id: 'c1', content: '{_RETURNED}' }}",
    f"{{ role: 'assistant', content: `{ANSWER}` }}",
)
_RUST = (
    f'Message {{ role: System, content: "{SYSTEM}" }}, Message {{ role: User, content: "{QUESTION}" }}',
    (
        'Message { role: Assistant, content: None, tool_calls: Some([ToolCall { id: "c1", '
        f'function: Function {{ name: "get_weather", arguments: {_RUST_GIVEN} }} }}]) }}'
    ),
    f'Message {{ role: Tool, tool_call_id: Some("c1"), content: {_RUST_RETURNED} }}',
    f'Message {{ role: Assistant, content: Some("{ANSWER}"), tool_calls: None }}',
)


@pytest.mark.parametrize("printed", [_SCRIPT, _RUST], ids=["JavaScript", "Rust"])
def test_printed_messages_are_read(printed: tuple[str, str, str, str]) -> None:
    asked, call, result, answer = printed

    def told(request: str, response: str, given: int, made: int) -> Any:
        counts = {"gen_ai.usage.input_tokens": given, "gen_ai.usage.output_tokens": made}
        return model_span({"acme.input": request, "acme.output": response, **counts})

    first = told(f"[ {asked} ]", call, 10, 2)
    require_whole([first, tool_span(), told(f"[ {asked}, {call}, {result} ]", answer, 20, 4)])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{ a: 'it\\'s', b: [ 1, -2.5, true ] }", {"a": "it's", "b": [1, -2.5, True]}),
        ('{ a: "\\u{2603} \\u00e9 \\x41 \\n" }', {"a": "☃ é A \n"}),
        ('User(Message { content: Text("Hi") })', {"role": "user", "content": "Hi"}),
        ("{ 'a-b': { c: undefined } }", None),
        ("{ a: { 'b-c': 1, }, }", {"a": {"b-c": 1}}),
    ],
)
def test_forms_of_values(text: str, value: object) -> None:
    read = read_printed(text)
    assert isinstance(read, Unreadable) if value is None else read == value


@pytest.mark.parametrize(
    "text",
    [
        "{ role: 'user', content: [Object] }",
        "{ role: 'user', content: 'Hi' ",
        "{ role: 'user', content: 'Hi' } and more",
        "{ role: 'user', content: Hi there }",
        "{ role: 'user', content: '\\u{zz}' }",
        'UserMessage { name = null contents = [TextContent { text = "Hi" }] }',
        "Compare { the two }",
        "{ a: " + "[" * 500 + "]" * 500 + " }",
    ],
)
def test_what_is_not_whole_or_not_quoted_is_left_alone(text: str) -> None:
    assert isinstance(read_printed(text), Unreadable)


@pytest.mark.parametrize(
    "text", ["A" * 100_000, "Aa " * 30_000 + "{", "A::" * 30_000, "A(" * 30_000 + "{"], ids=len
)
def test_many_names_of_types_are_no_object(text: str) -> None:
    assert isinstance(read_printed(text), Unreadable)
