"""The span of a tool: name, call id, arguments, result."""

from __future__ import annotations

import re

from retrospan.ingest.interpret.messages.messages import read_message
from retrospan.ingest.interpret.messages.result_envelopes import NOTHING, said_in
from retrospan.ingest.interpret.messages.tool_results import UNPRINTED, response_of
from retrospan.ingest.interpret.normalize.given_calls import arguments_in, call_id_in, said_behind_fate
from retrospan.ingest.interpret.normalize.named_executions import tool_named
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.told_executions import open_execution
from retrospan.ingest.interpret.spans.exchange import is_json_text, plain_value
from retrospan.ingest.interpret.spans.facts import EXCEPTIONS
from retrospan.ingest.interpret.spans.leaves import flattened
from retrospan.ingest.interpret.spans.name_words import CALL_ID, words_of
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.pyrepr import read_fields, read_repr
from retrospan.ingest.interpret.spans.small_shapes import TYPED, entity_named
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.spans.vocabulary import INPUT, OUTPUT
from retrospan.ingest.json_text import Unreadable, read_json, read_value
from retrospan.schemas import semconv

#: What stands around the name of a tool in that of its span: the operation's name, Python's for a call.
_CALLED = re.compile(r"\Aexecute_tool |\.__call__\Z")
#: A name in quotes, after words for the kind of the span: `tool: 'search'`.
_QUOTED_NAME = re.compile(r"[\w ]+:? (['\"`])([\w.:/-]+)\1")

#: What is called after the code of a framework, not after the tool or agent that it runs.
_METHOD = re.compile(r"[A-Z]\w*\.\w+\Z")

#: How Python prints a tool's message, alone, in a list, or as what a node of a graph changes.
_MESSAGE_PRINTED = re.compile(r"(?:Command\(update=)?(?:\{'messages': )?\[?ToolMessage\(")
#: How the printed fields begin of an object that says how a call of a tool went.
_OUTCOME_PRINTED = re.compile(r"(?:status|success|is_success|ok|error)=")
#: What a call that a framework hands to the node of its tools has, in place of arguments.
_CALL = ("name", "args", "id")

#: What is not an object is the only value of one, where an object has to be written.
_WRAPPED = ({"_value"}, {"$value"}, {"$values"})
_MESSAGE = {"role", "content"}
_OPENING = ("{", "[")

#: Words for what a function returned.
_RETURNED = ("output", "result", "return")

#: Under which names else a program keeps the whole list or object that its tool returned.
_HOLDING = ("data", "content", "value", "response", "payload", "body")

#: What stands where an id should be and none is known.
_NO_ID = ("default", "none", "null", "unknown", "None")

#: What a function response of Gemini has.
_FUNCTION_RESPONSE = {"id", "name", "response"}


def read_tool(places: SpanFields, span: NormalizedSpan, problems: ParseIssues) -> None:
    """Read a tool's span in place. Arguments that were meant as JSON and are not are unknown, and a problem."""
    sent, names = span.sent, places.names
    span.tool_name = (
        places.text(*names.tools)
        or name_beside_method(sent)
        or (entity_named(sent.attributes, "tool") if TYPED in places.listed else None)
        or tool_named(sent)
    ) or _name_in(sent.name)
    span.tool_call_id = places.text(*names.call_ids) or next(
        (plain for said in places.said(CALL_ID) if isinstance(said, str) and (plain := said.strip('"'))), None
    )
    if span.tool_call_id in _NO_ID:
        span.tool_call_id = None
    given: object = None
    arguments = _whole_or_by_leaves(places, names.arguments, INPUT)
    if arguments is None:
        arguments = _in_event(sent, semconv.TOOL_MESSAGE, "content")
    if arguments is not None:
        given = places.read(arguments)
        read = _read_arguments(given)
        if isinstance(read, Unreadable):
            problems.add(sent.span_id, "arguments", arguments, read.reason)
        else:
            span.arguments, span.has_arguments = arguments_in(read, span.tool_name), True
            span.tool_call_id = span.tool_call_id or call_id_in(read)
            _open_call(span)
    read_result(places, span)
    if is_call(given):
        span.result = unquoted(span.result)


def _name_in(name: str) -> str:
    """Return the name of a tool in that of a span: without the words for the kind before it."""
    quoted = _QUOTED_NAME.fullmatch(name) if name[-1:] in "'\"`" else None
    return quoted[2] if quoted is not None else _CALLED.sub("", name)


def _whole_or_by_leaves(places: SpanFields, names: tuple[str, ...], shape: str) -> object:
    """Return what the first of some names says, or what is told field by field where only a word in a name says more."""
    by_leaves = None if places.has_any(names) else flattened(places, shape)
    return places.any(*names) if by_leaves is None else by_leaves


def _open_call(span: NormalizedSpan) -> None:
    """Take name, id and arguments out of the one call that a span was given in a list: arguments are never a list, and what
    the span is called is the code that ran the tool."""
    only = span.arguments[0] if isinstance(span.arguments, list) and len(span.arguments) == 1 else None
    if not isinstance(only, dict) or not all(key in only for key in _CALL):
        return
    name, arguments, call_id = (only[key] for key in _CALL)
    if isinstance(name, str) and name and isinstance(arguments, dict):
        span.tool_name, span.arguments = name, arguments
        if isinstance(call_id, str) and call_id:
            span.tool_call_id = span.tool_call_id or call_id


def is_call(given: object) -> bool:
    """Tell whether a value is what a decorator records of the call of a function: what that returned is JSON as well."""
    read = read_value(given)
    return isinstance(read, dict) and read.keys() == {"args", "kwargs"}


def unquoted(value: object) -> object:
    """Return a text without the quotes of JSON."""
    if not isinstance(value, str) or len(value) < 2 or value[0] != '"' or value[-1] != '"':
        return value
    read = read_json(value)
    return read if isinstance(read, str) else value


def is_around(result: object, told: object) -> bool:
    """Tell whether a result is an object that a program made around what its tool returned: the model was told just that.

    It has more than one value, and what was told is one of them, under a name that says so.
    """
    if not isinstance(result, dict) or len(result) < 2 or told in (None, ""):
        return False
    is_whole = isinstance(told, (dict, list)) and said_in(result) is NOTHING
    return any(
        value == told
        or (isinstance(value, str) and isinstance(told, (dict, list)) and read_value(value) == told)
        for key, value in result.items()
        if not words_of(key).isdisjoint(_RETURNED) or (is_whole and key in _HOLDING)
    )


def only_value(returned: object) -> object:
    """Return what was wrapped as the only value of an object, or with its form; anything else as it is."""
    if isinstance(returned, dict) and returned.keys() in _WRAPPED:
        return next(iter(returned.values()))
    return plain_value(returned)


def _open_forms(span: NormalizedSpan) -> None:
    """Open arguments and a result that both were written with their form: neither the tool's caller nor it did that."""
    given = plain_value(span.arguments)
    if given is span.arguments or plain_value(span.result) is span.result:
        return
    read = _read_arguments(given)
    span.arguments = given if isinstance(read, Unreadable) else read
    span.result = plain_value(span.result)
    told = plain_value(span.result)
    span.result = told if _is_tool_message(told) else span.result  # a form inside a form, made of a message
    told = span.result
    if isinstance(told, list) and len(told) == 1 and isinstance(told[0], dict) and told[0].keys() == _MESSAGE:
        span.result = told[0]["content"]
    span.result = response_of(span.result)


def name_beside_method(sent: Span) -> str | None:
    """Return the `name` of what a span ran, where it is called after a method of a framework's class."""
    said = sent.attributes.get("name") if _METHOD.match(sent.name) else None
    return (said.strip('"') or None) if isinstance(said, str) else None


def read_result(places: SpanFields, span: NormalizedSpan) -> None:
    """Read what a tool returned, where its span says it, in place."""
    result = _whole_or_by_leaves(places, places.names.results, OUTPUT)
    if result is None:
        result = _in_event(span.sent, semconv.CHOICE, "message")
    if result is None:
        result = _told_by_event(span.sent)
    if isinstance(result, str) and result[:1] == "[" and UNPRINTED.fullmatch(result):
        return  # messages may tell what it was
    if result is not None:
        span.result, span.has_result = response_of(_in_message(_unprinted(places.read(result)))), True
        if isinstance(span.result, dict) and span.result.keys() in _WRAPPED:
            span.result = next(iter(span.result.values()))
        behind = said_behind_fate(span.result)
        if behind is not None:
            went_well, span.result = behind
            span.failed = span.failed or not went_well
            if span.failed and span.error_message is None and isinstance(span.result, str):
                span.error_message = span.result
        _open_forms(span)
        open_execution(span)
        open_tool_message(span)
        _open_output(span)


def _unprinted(result: object) -> object:
    """Return the message of a tool where a framework printed the fields of one, or an object that holds only one; anything
    else as it is."""
    if isinstance(result, dict) and len(result) == 1:
        (only,) = result.values()
        opened = _unprinted(only) if isinstance(only, str) else only
        return opened if opened is not only else result
    if not isinstance(result, str):
        return result
    if _OUTCOME_PRINTED.match(result) and " result=" in result:
        return _returned_in(read_fields(result), result)
    if " tool_call_id=" not in result:
        return result
    printed = unquoted(result)
    if isinstance(printed, str) and printed.startswith("content="):
        fields = read_fields(printed)
        return fields if _is_tool_message(fields) else result
    message = read_repr(result) if _MESSAGE_PRINTED.match(result) else None
    for key in ("update", "messages"):
        message = message.get(key, message) if isinstance(message, dict) else message
    if isinstance(message, list) and len(message) == 1:
        message = message[0]
    return message if _is_tool_message(message) else result


def _returned_in(fields: object, printed: str) -> object:
    """Return what a tool returned out of the printed fields of an object that a framework made of how it went: its result, or
    its error where there was one."""
    if not isinstance(fields, dict) or "result" not in fields:
        return printed
    error = fields.get("error")
    return {"error": error} if error and not fields["result"] else fields["result"]


def tells_output(span: NormalizedSpan) -> bool:
    """Tell whether what a span of any kind returned is an object of a framework for the output of a tool."""
    return _output_in(span.framework_output) is not None


def _output_in(result: object) -> dict[str, object] | None:
    """Return the object that keeps a tool's raw output beside the text for the model, on its own or in a `tool_output`."""
    inner = result.get("tool_output", result) if isinstance(result, dict) else None
    return inner if isinstance(inner, dict) and "raw_output" in inner else None


def _open_output(span: NormalizedSpan) -> None:
    span.result = returned = _said_twice(span.result)
    if (
        isinstance(returned, dict)
        and returned.keys() == _FUNCTION_RESPONSE
        and returned["name"] == span.tool_name
    ):
        span.result = returned["response"]
    output = _output_in(span.result)
    if output is not None:
        span.result = output["raw_output"]
        if output.get("is_error") is True:
            span.failed = True
            message = read_message({"role": "tool", **output})
            if span.error_message is None and message is not None:
                said = message["parts"][0].get("response")
                span.error_message = said if isinstance(said, str) else None


def _said_twice(result: object) -> object:
    """Return the text that an object holds as an output and once more as the only part of a message's content: whatever
    else is in it the program keeps for itself. Anything else as it is."""
    content = result.get("content") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(content, list) or len(content) != 1:
        return result
    text = content[0].get("text") if isinstance(content[0], dict) else None
    is_twice = isinstance(text, str) and any(
        value == text for key, value in result.items() if not words_of(key).isdisjoint(_RETURNED)
    )
    return response_of(text) if is_twice else result


def _in_event(sent: Span, name: str, key: str) -> object:
    """Return what the first of a span's events of a name says under a key, or in the one list or object that it holds."""
    for event in sent.events:
        if event.name == name:
            value = event.attributes.get(key)
            value = (
                value if value is not None else next(filter(is_json_text, event.attributes.values()), None)
            )
            if value is not None:
                return value
    return None


def _told_by_event(sent: Span) -> object:
    """Return what the only event of a span with an attribute for an output says there; None where there is none."""
    told = [
        value
        for event in sent.events
        if event.name not in EXCEPTIONS
        for name, value in event.attributes.items()
        if not words_of(name).isdisjoint(_RETURNED)
    ]
    return told[0] if len(told) == 1 else None


def _read_arguments(value: object) -> object:
    """Read arguments from JSON, or from what Python prints; a call's `args` and `kwargs` are opened."""
    read = unquoted(_in_message(read_value(value)))
    if (
        isinstance(read, str)
        and read[:1] in _OPENING
        and not isinstance(inner := read_json(read), Unreadable)
    ):
        read = inner  # the JSON of arguments in the quotes of JSON, or as what a message says
    if isinstance(read, str):
        printed = read_repr(read)
        if isinstance(printed, Unreadable) and read[:1] in ("{", "["):
            return read_json(read)
        read = read if isinstance(printed, Unreadable) else printed
    if isinstance(read, dict) and read.keys() == {"args"} and isinstance(read["args"], list):
        only = read_value(read["args"][0]) if len(read["args"]) == 1 else None
        return only if isinstance(only, dict) else read
    if isinstance(read, dict) and isinstance(read.get("kwargs"), dict):
        others = [value for key, value in read.items() if key != "kwargs"]
        if all(value is True or not value for value in others):
            return read["kwargs"]
    return read


def _in_message(value: object) -> object:
    """Return what the one message of a tool says, alone or in a list, which an instrumentation made of its arguments or of
    its result; anything else as it is."""
    only = value[0] if isinstance(value, list) and len(value) == 1 else value
    is_said = isinstance(only, dict) and only.keys() == _MESSAGE and only["role"] == "tool"
    return only["content"] if is_said and isinstance(only, dict) else value


def open_tool_message(span: NormalizedSpan) -> None:
    """Take result, call id and failure out of the message that a framework made of a tool's result."""
    message = span.result
    for key in ("output", "outputs"):
        if isinstance(message, dict) and key in message:
            inner = read_value(message[key])
            if len(message) == 1 or _is_tool_message(inner):
                message = span.result = inner
    if not isinstance(message, dict):
        return
    if not _is_tool_message(message):
        return
    data = _data(message)
    span.result = response_of(data["content"])
    call_id = data.get("tool_call_id")
    if isinstance(call_id, str) and call_id:
        span.tool_call_id = span.tool_call_id or call_id
    name = data.get("name")
    if isinstance(name, str) and name and semconv.TOOL_NAME not in span.sent.attributes:
        span.tool_name = name  # as the model called it: what the span is called may be a class
    if data.get("status") == "error":
        span.failed = True
        if span.error_message is None and isinstance(data["content"], str):
            span.error_message = data["content"]


def _data(message: dict[str, object]) -> dict[str, object]:
    return next((inner for key in ("data", "kwargs") if isinstance(inner := message.get(key), dict)), message)


def _is_tool_message(value: object) -> bool:
    """Tell whether a value is a serialised tool message, in either of LangChain's forms or plain."""
    if not isinstance(value, dict):
        return False
    data = _data(value)
    return "content" in data and ("tool_call_id" in data or data.get("type") == "tool")
