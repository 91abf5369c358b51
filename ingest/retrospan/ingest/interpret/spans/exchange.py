"""A model request and its response that a span holds under names of its own: in two values, or key by key.

Known by their shape, whatever framework wrote them: the fields are those that model APIs have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from retrospan.ingest.interpret.spans.chunks import STREAM_BEGINS, whole_response
from retrospan.ingest.interpret.spans.exported_fields import with_plain_names
from retrospan.ingest.interpret.spans.listed_calls import are_calls
from retrospan.ingest.interpret.spans.name_words import means_itself
from retrospan.ingest.interpret.spans.printed import looks_printed, read_printed
from retrospan.ingest.interpret.spans.pyrepr import read_repr, read_response, tells_response
from retrospan.ingest.interpret.spans.spoken import named_speaker, read_spoken
from retrospan.ingest.json_text import Unreadable, read_json, read_value

#: Returns the list or object that text holds, else the value as it is.
Reader = Callable[[object], object]

_REQUESTS = ("messages", "contents")
RESPONSES = ("choices", "candidates")
#: Names that say on which side of an exchange a value is.
OF_ANSWERS = re.compile(r"output|response|completion|result|answer", re.IGNORECASE)
OF_REQUESTS = re.compile(r"input|prompt|request|history", re.IGNORECASE)
_ROLES = ("role", "message_role")
#: How instrumentations say the form of a value beside it.
_WRAPPED = {"type", "value"}
_MESSAGES = ("chat_messages", "messages")
_FORMS = (*_MESSAGES, "text", "json", "list", "raw", "string", "object")
_BEGINS = frozenset('[{"')
#: Of messages that say who speaks by their type.
_TYPES = ("human", "ai", "system", "tool", "user", "assistant", "tool_execution_result")
#: What such a message holds.
_SAYING = frozenset(("content", "data", "contents", "text", "toolExecutionRequests"))
#: Of what OpenAI's Responses API has instead of a message.
_ITEMS = ("function_call", "function_call_output", "function_call_result", "reasoning")
_CONSTRUCTOR = re.compile(r"[A-Z]\w*\([a-z_]\w*=")
#: A message as Python prints it: `ChatMessage(role=<MessageRole.USER: 'user'>, …`, `AIMessage(content=…`.
_PRINTED_MESSAGE = re.compile(r"[A-Za-z_.]*Message\(_?role=(?:<[\w.]+: )?'([\w-]+)'")

#: Names under which requests, and responses, lie in other objects.
_AROUND_REQUESTS = (
    *("kwargs", "request", "body", "params", "inputs", "input", "llm_request", "arguments"),
    "text",
)
_AROUND_RESPONSES = (
    "response",
    "result",
    "output",
    "outputs",
    "body",
    "data",
    "raw",
    "llm_response",
    "value",
    "rawResponse",
    "content",
)
#: What says why an answer ended.
_ENDS = ("finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason")
#: Where the answers stand in a response; another one is an answer itself.
_ANSWERS = frozenset((*RESPONSES, "generations", "replies", "output", "response"))
_CONTENTS = ("content", "text", "message", "parts", "tool_calls", "toolCalls")

#: Where the model that was asked for stands in an exchange: under its own name is the one that answered.
REQUEST_MODEL = "request_model"
#: Only a value with one of these in it can be a response.
_MARKS = (
    *("choices", "candidates", "stop_reason", "stopReason", "replies", '"response"'),
    *("finish_reason", "finishReason", "done_reason", "message_start"),
)


def exchange_by_keys(attributes: Mapping[str, object], read: Reader = read_value) -> dict[str, object] | None:
    """Return the request and the response whose fields lie under one prefix, in one object, values read."""
    for key in attributes:
        prefix, _, last = key.rpartition(".")
        if last in _REQUESTS and any(f"{prefix}.{name}" in attributes for name in RESPONSES):
            return {
                key[len(prefix) + 1 :]: read_shape(value, read)
                for key, value in attributes.items()
                if key.startswith(f"{prefix}.")
            }
    return None


def exchange_by_values(
    attributes: Mapping[str, object], read: Reader = read_value
) -> dict[str, object] | None:
    """Return the request that is one value, and the response that is another, in one object."""
    marked = (
        value
        for value in attributes.values()
        if _may_hold(value) and (not isinstance(value, str) or any(m in value for m in _MARKS))
    )
    response = next(
        (found for value in marked if (found := _response_in(read_shape(value, read))) is not None), None
    )
    if response is None:
        return None
    for value in attributes.values():
        request = read_shape(value, read) if _may_hold(value) else None
        if isinstance(request, list) and are_messages(request) and not _is_answer(request):
            listed: dict[str, object] = {"messages": request}
            request = listed
        if isinstance(request, dict) and request is not response and _is_request(request):
            asked = {key: said for key, said in request.items() if key != "model"}
            said = (
                response if not response.keys().isdisjoint(_ANSWERS) else {**response, "choices": [response]}
            )
            return {**asked, REQUEST_MODEL: request.get("model"), **said}
    return None


def _response_in(value: object) -> dict[str, object] | None:
    """Return a whole response: an object, or the list of its choices."""
    if _are_choices(value):
        return {"choices": value}
    return value if isinstance(value, dict) and _is_response(value) else None


def request_by_shape(attributes: Mapping[str, object], read: Reader = read_value) -> object:
    """Return the first value that is a request to a model, or the messages of one; None where there is none.

    Attributes of the GenAI conventions mean what they are called, and are not looked at; nor is one whose name says that
    it is an answer.
    """
    for key, value in attributes.items():
        if not means_itself(key) and _may_hold(value) and not OF_ANSWERS.search(key):
            said = read_shape(value, read)
            for each in _with_inner(said, _AROUND_REQUESTS):
                if isinstance(each, dict):
                    if _is_request(each) or any(are_messages(each.get(name)) for name in _REQUESTS):
                        return each
                elif are_messages(each) and not _is_answer(each):
                    return each
    return None


def response_by_shape(attributes: Mapping[str, object], read: Reader = read_value) -> object:
    """Return the first value that is a model's response, or a message of its own; None where there is none.

    Attributes of the GenAI conventions are not looked at, nor is one whose name says that it was given to the model.
    """
    for key, value in attributes.items():
        if not means_itself(key) and _may_hold(value) and not OF_REQUESTS.search(key):
            said = read_shape(value, read)
            for each in _with_inner(_updated(said), _AROUND_RESPONSES):
                inner = each.get("message") if isinstance(each, dict) else None
                if _is_response(each) or _is_answer(each) or _is_answer([each]) or _is_answer([inner]):
                    return each
                if _are_choices(each):
                    return {"choices": each}
    return None


def _updated(said: object) -> object:
    """Return the messages of a model that a node of a graph returned, printed, as its only update of the state; anything
    else as it is."""
    only = said[0] if isinstance(said, list) and len(said) == 1 else None
    told = read_repr(only) if isinstance(only, str) and _is_printed(only) else None
    update = told.get("update") if isinstance(told, dict) else None
    messages = update.get("messages") if isinstance(update, dict) else None
    return messages[0] if isinstance(messages, list) and _is_answer(messages) and len(messages) == 1 else said


def transcript_by_shape(attributes: Mapping[str, object], read: Reader = read_value) -> list[object]:
    """Return the first list of messages that begins with others and ends with a model's, under a name that says neither
    that it was given to the model nor that it is its answer: all that was said. Empty where there is none."""
    for key, value in attributes.items():
        if means_itself(key) or not _may_hold(value) or OF_ANSWERS.search(key) or OF_REQUESTS.search(key):
            continue
        said = read_shape(value, read)
        listed = said.get("messages") if isinstance(said, dict) and said.keys() == {"messages"} else said
        if not (isinstance(listed, list) and are_messages(listed) and _is_answer(listed[-1:])):
            continue
        if any(_role(each) in ("user", "human") for each in listed):
            return listed
    return []


def histories_by_shape(attributes: Mapping[str, object], read: Reader = read_value) -> Iterator[list[object]]:
    """Yield the lists of messages that stand in objects, under whatever name, and tell more than an answer."""
    for key, value in attributes.items():
        if means_itself(key) or not _may_hold(value):
            continue
        said = read_shape(value, read)
        for inner in said.values() if isinstance(said, dict) else ():
            if isinstance(inner, list) and are_messages(inner) and not _is_answer(inner):
                yield inner


def _with_inner(said: object, around: tuple[str, ...]) -> Iterator[object]:
    """Yield a value, then what it holds under a name of a wrapper, one after the other; two deep."""
    yield said
    for key in around if isinstance(said, dict) else ():
        inner = said.get(key) if isinstance(said, dict) else None
        if isinstance(inner, str) and inner[:1] in ("{", "["):
            inner = read_value(inner)
        if isinstance(inner, (dict, list)) and inner:
            yield inner
            for name in around if isinstance(inner, dict) else ():
                deeper = inner.get(name) if isinstance(inner, dict) else None
                if isinstance(deeper, str) and deeper[:1] in ("{", "["):
                    deeper = read_value(deeper)
                if isinstance(deeper, (dict, list)) and deeper:
                    yield deeper


def _are_choices(value: object) -> bool:
    """Tell whether a value is a list of choices, each with its message and why it ended."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(each, dict)
            and isinstance(each.get("message"), dict)
            and not each.keys().isdisjoint(_ENDS)
            for each in value
        )
    )


def printed_messages(text: str) -> object:
    """Return the message, or the list of them, that JavaScript or Rust printed; Unreadable where it is none."""
    if not looks_printed(text):
        return Unreadable("not printed messages")
    found = read_printed(text)
    messages = found if isinstance(found, list) else [found]
    return found if all(map(_role, messages)) and messages else Unreadable("not printed messages")


def is_json_text(value: object) -> bool:
    """Tell whether a value looks like the JSON of an object, or of a list of them."""
    return isinstance(value, str) and value.startswith(("{", "[{"))


def asks(value: object) -> bool:
    """Tell whether a value is a request to a model: what a function returns that only prepares one."""
    told = read_shape(value, read_value) if isinstance(value, str) else value
    if not isinstance(told, dict) or told.keys() & {*RESPONSES, REQUEST_MODEL}:
        return False
    said = told.get("messages")
    return isinstance(said, list) and are_messages(said) and not _is_answer(said[-1:])


def are_messages(value: object) -> bool:
    """Tell whether a value is a list of messages, or of such lists, each of which says who speaks."""
    return (
        isinstance(value, list) and bool(value) and all(_role(each) or are_messages(each) for each in value)
    )


def _is_answer(value: object) -> bool:
    """Tell whether a value is a list of messages, all of them a model's."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(_role(each) in ("assistant", "ai", "model") for each in value)
    )


def _role(message: object) -> str:
    """Return who says a message, '' where it is not one that tells."""
    if isinstance(message, str):
        printed = _PRINTED_MESSAGE.match(message)
        return printed[1].lower() if printed else ""
    if not isinstance(message, dict):
        return ""
    if message.get("type") in _ITEMS:
        return "item"
    path = message.get("id")
    if "lc" in message and isinstance(path, list) and path and isinstance(path[-1], str):
        return path[-1].removesuffix("Chunk").removesuffix("Message").lower()
    role = next((said for name in _ROLES if (said := message.get(name))), None)
    kind = message.get("type")
    if role is None and isinstance(kind, str) and kind.lower() in _TYPES and not _SAYING.isdisjoint(message):
        role = kind
    if role is None and (named := named_speaker(message)) is not None:
        return named
    if role is None and isinstance(kind, str) and kind.endswith("Message") and "content" in message:
        role = kind.removesuffix("Message")
    told = message.keys() & {"parts", "tool_calls", "toolCalls", "blocks", *_SAYING}
    return role.rpartition(".")[2].lower() if isinstance(role, str) and told else ""


def _is_request(value: dict[str, object]) -> bool:
    messages = next((said for name in _REQUESTS if isinstance(said := value.get(name), list)), None)
    if messages is None:
        if isinstance(value.get("chat_history"), list) and isinstance(value.get("message"), str):
            return True
        return "model" in value and isinstance(value.get("input"), str | list)
    told = [isinstance(each, dict) and bool(each.keys() & {"role", "parts"}) for each in messages]
    # What a tool returned may not say who speaks.
    return any(told[:1]) and all(
        said or (isinstance(each, dict) and "content" in each)
        for each, said in zip(messages, told, strict=True)
    )


def _is_response(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    answers = next((said for name in RESPONSES if isinstance(said := value.get(name), list)), None)
    if answers is not None:
        return bool(answers) and all(
            isinstance(each, dict) and each.keys() & {"message", "text", "content"} for each in answers
        )
    if any(isinstance(value.get(name), list) and value[name] for name in ("generations", "replies")):
        return True
    if len(value) == 1 and are_calls(*value.items()):
        return True
    if any(isinstance(value.get(name), str) for name in _ENDS) and any(name in value for name in _CONTENTS):
        return True
    if isinstance(value.get("toolCalls"), list) and isinstance(value.get("text"), str):
        return True
    if value.get("object") == "response" or "stopReason" in value:
        return isinstance(value.get("output"), list | dict)
    return (
        value.get("role") == "assistant" and "stop_reason" in value and isinstance(value.get("content"), list)
    )


def read_shape(value: object, read: Reader) -> object:
    """Return what a value holds, whoever wrote it: JSON, what Python, JavaScript or Rust printed, the chunks of a stream."""
    said = read(value)
    if isinstance(said, str) and said[:2] in ('"[', '"{'):
        inner = read_json(said)
        said = read(inner) if isinstance(inner, str) else said
    if isinstance(said, str) and (said[:1] in ("[", "{") or _is_printed(said) or _may_be_printed(said)):
        printed = read_response(said) if tells_response(said) else read_repr(said)
        printed = printed_messages(said) if isinstance(printed, Unreadable) else printed
        return said if isinstance(printed, Unreadable) else printed
    if isinstance(said, dict):
        return with_plain_names(plain_value(said))
    if isinstance(said, list) and all(isinstance(each, str) and each[:1] == "{" for each in said):
        said = read_spoken(said)
    return with_plain_names(whole_response(plain_value(said)))


def plain_value(value: object) -> object:
    """Return what was wrapped with a word for its form, as `{"type": "json", "value": …}`; anything else as it is.

    Messages may be wrapped again inside, with their own form.
    """
    if not (isinstance(value, dict) and value.keys() == _WRAPPED and value["type"] in _FORMS):
        return value
    inner = value["value"]
    if isinstance(inner, dict) and inner.keys() == _WRAPPED and inner["type"] in _MESSAGES:
        return inner["value"] if isinstance(inner["value"], list) else inner
    return inner


def _is_printed(text: str) -> bool:
    """Tell whether a text looks like an object that Python printed by its constructor."""
    return text[:1].isupper() and text[-1:] == ")" and _CONSTRUCTOR.match(text) is not None


def _may_be_printed(text: str) -> bool:
    """Tell whether a text looks like a stream, the fields of a response, or an object of another language: most end here
    with a look at their first letters."""
    begins = text[:40]
    if "=" in begins:
        return tells_response(text)
    if "{" in begins:
        return text.startswith(STREAM_BEGINS) or looks_printed(text)
    return text.startswith(STREAM_BEGINS)


def _may_hold(value: object) -> bool:
    """Tell whether a value may hold a request or a response."""
    if isinstance(value, str):
        first = value[:1]
        if first in _BEGINS:
            return first != '"' or value[1:2] in _BEGINS
        if value[-1:] == ")" and _is_printed(value):
            return True
        return _may_be_printed(value)
    return isinstance(value, (list, dict)) and bool(value)
