"""Whole requests and responses of model APIs that travel in one value: OpenAI, Anthropic, Gemini and frameworks around them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from retrospan.ingest.interpret.messages.kinds_of_parts import by_role
from retrospan.ingest.interpret.messages.message import Message, Part
from retrospan.ingest.interpret.messages.message_parts import read_part, tool_response
from retrospan.ingest.interpret.messages.messages import definition_in, read_messages
from retrospan.ingest.interpret.messages.named_results import with_roles
from retrospan.ingest.interpret.spans.chunks import whole_response
from retrospan.ingest.interpret.spans.exchange import plain_value, printed_messages
from retrospan.ingest.interpret.spans.exported_fields import with_plain_names
from retrospan.ingest.interpret.spans.printed import looks_printed
from retrospan.ingest.interpret.spans.pyrepr import read_repr, read_response, tells_response
from retrospan.ingest.json_text import Unreadable, read_value

_MESSAGES = ("messages", "contents", "chat_history", "input", "prompt", "msgs")
_SYSTEM = ("system", "instructions", "system_instruction", "systemInstruction", "system_prompt", "preamble")
_ASKED = (
    "task",
    "query",
    "question",
    "user_input",
    "user_message",
    "user_msg",
    "user_prompt",
    "input_text",
    "text",
)
#: A longer text is not kept once it is read.
_SHORT = 4_000
_ANSWERS = (
    "generations",
    "choices",
    "candidates",
    "output",
    "replies",
    "message",
    "response",
    "result",
    "content",
    "completions",
    "outputs",
    "update",
    "output_text",
    "generated_text",
    "completion",
)
#: Who speaks in a request that is its only message.
_ASKING = ("user", "human", "system", "developer")


class ProviderRequest:
    """What a value says of a request; empty where it does not. Read when it is asked for."""

    def __init__(self, value: object) -> None:
        self._value = value
        config = value.get("config") if isinstance(value, dict) else None
        self._places = [each for each in (value, config) if isinstance(each, dict)]
        self._system: list[Part] | None = None
        self._messages: list[Message] | None = None

    @property
    def system(self) -> list[Part]:
        if self._system is None:
            self._system = _system(self._places)
        return self._system

    @property
    def messages(self) -> list[Message]:
        if self._messages is None:
            self._messages = self._said()
        return self._messages

    def _said(self) -> list[Message]:
        value = self._value
        if isinstance(value, dict):
            if isinstance(value.get("message"), str) and not isinstance(value.get("messages"), list):
                return _said_last(value)
            listed = next((said for key in _MESSAGES if (said := _read(value.get(key)))), [])
            return listed or (_read(value) if value.get("role") in _ASKING else [])
        return _read(value)

    @property
    def tools(self) -> object:
        found = next((place["tools"] for place in self._places if place.get("tools")), None)
        if found is None and isinstance(self._value, list):
            among = (definition_in(item) for item in self._value if isinstance(item, dict))
            found = [definition for definition in among if definition is not None] or None
        return found

    @property
    def model(self) -> str | None:
        model = self._value.get("model") if isinstance(self._value, dict) else None
        return model if isinstance(model, str) else None


def _said_last(value: dict[str, object]) -> list[Message]:
    """Return the messages of a request that keeps the last one apart from the history, and results of tools from both."""
    told = value.get("tool_results")
    results = [
        tool_response(None, returned[0] if len(returned) == 1 else returned, {})
        for each in (told if isinstance(told, list) else [])
        if isinstance(each, dict) and isinstance(returned := each.get("outputs"), list)
    ]
    last = _read(value.get("message"))
    history = _read(value.get("chat_history"))
    said: list[Message] = [{"role": "tool", "parts": results}] if results else []
    return [*history, *last, *said]


def parse_request(value: object) -> ProviderRequest:
    """Return the request in a value: an object with messages among other things, or the messages themselves."""
    return ProviderRequest(_opened(value))


def parse_question(value: object, depth: int = 2) -> list[Message]:
    """Return what a root was asked: its messages, the text under one of the usual names, or either of them further inside;
    or its only argument, if that is a text."""
    read = read_value(value)
    given = read.get("args") if isinstance(read, dict) else None
    if isinstance(read, dict) and isinstance(given, list) and all(map(_is_option, read.items())):
        if len(given) == 1 and isinstance(given[0], str):
            return _read(given[0])
        if read.keys() == {"args", "kwargs"}:
            return []
    value = _opened(read)
    if isinstance(value, dict):
        said = parse_request(value).messages
        if said:
            return said
        asked = next((_read(value[key]) for key in _ASKED if isinstance(value.get(key), str)), [])
        inner = (
            parse_question(item, depth - 1) for item in value.values() if isinstance(item, dict) and depth
        )
        return asked or next((messages for messages in inner if messages), [])
    return _read(value)


def _is_option(argument: tuple[str, object]) -> bool:
    """Tell whether what was given by name is an option, and not what was asked; what was given by place stands apart."""
    name, value = argument
    return name == "args" or not value or isinstance(value, bool | int | float)


def told_value(value: object) -> object:
    """Return a value read; JSON's null as a text is none: there was no request, or no response."""
    return None if value == "null" else with_plain_names(whole_response(read_value(value)))


def _opened(value: object) -> object:
    """Return the value inside `{"inputs": …}` and `{"kwargs": …}`; a request that Python printed is read."""
    value = plain_value(told_value(value))
    if isinstance(value, str) and value.startswith("{") and ("'messages'" in value or "'contents'" in value):
        printed = read_repr(value)
        value = value if isinstance(printed, Unreadable) else printed
    for key in ("inputs", "kwargs"):
        if isinstance(value, dict) and isinstance(value.get(key), dict) and "messages" not in value:
            value = value[key]
    return value


def _read(value: object, role: str = "user") -> list[Message]:
    """Read messages, also those printed by Python, one by one."""
    value = read_value(value)
    value = by_role(value) or value
    if isinstance(value, list):
        return [message for item in with_roles(value) for message in _read(item, role)]
    if isinstance(value, str) and looks_printed(value):
        printed = printed_messages(value)
        return read_messages(value if isinstance(printed, Unreadable) else printed, role)
    if isinstance(value, str) and value.endswith(")"):
        return [*(_read_printed if len(value) <= _SHORT else _read_printed.__wrapped__)(value, role)]
    return read_messages(value, role)


@lru_cache(maxsize=512)
def _read_printed(text: str, role: str) -> tuple[Message, ...]:
    """Read a message that Python printed: each prompt prints those of the one before again."""
    printed = read_repr(text)
    return tuple(read_messages(text if isinstance(printed, Unreadable) else printed, role))


def _system(places: list[dict[str, object]]) -> list[Part]:
    for place in places:
        for key in _SYSTEM:
            said = place.get(key)
            if isinstance(said, dict) and "parts" in said:
                said = said["parts"]
            if said:
                return [read_part(part) for part in (said if isinstance(said, list) else [said])]
    return []


def parse_answer(value: object, depth: int = 3) -> list[Message]:
    """Return the answer in a whole response: choices, generations, candidates, output items, or messages."""
    value = plain_value(told_value(value))
    if isinstance(value, str):
        told = read_response(value) if tells_response(value) else None
        if isinstance(told, dict):
            return parse_answer(told, depth)
        printed = read_repr(value) if value.endswith(")") else printed_messages(value)
        if depth and isinstance(printed, dict) and isinstance(printed.get("choices"), list):
            return parse_answer(printed, depth - 1)
        return read_messages(value if isinstance(printed, Unreadable) else printed, "assistant")
    is_message = isinstance(value, dict) and (
        str(value.get("type")).endswith(("Message", "MessageChunk"))
        or ("content" in value and isinstance(calls := value.get("tool_calls"), list) and bool(calls))
    )
    if isinstance(value, dict) and not ("role" in value or "parts" in value or is_message):
        for key in _ANSWERS:
            if value.get(key):
                inner = value[key]
                said = [message for item in flat(inner) for message in _answer_in(item, depth)]
                if said:
                    return said
                if depth and isinstance(inner, dict) and (said := parse_answer(inner, depth - 1)):
                    return said
    return [message for item in flat(value) for message in _answer_in(item, depth)]


def _answer_in(item: object, depth: int) -> list[Message]:
    """Read the answer in an item of a response, also in an object that Python printed."""
    if depth and isinstance(item, str) and item[:1].isupper() and item.endswith(")"):
        printed = read_repr(item)
        if isinstance(printed, dict) and "update" in printed:
            return parse_answer(printed, depth - 1)
    if (
        depth
        and isinstance(item, dict)
        and isinstance(update := item.get("update"), dict)
        and "role" not in item
    ):
        return parse_answer(update, depth - 1)
    return _read(item, "assistant")


def flat(value: object) -> Iterator[object]:
    if isinstance(value, list):
        for item in value:
            yield from flat(plain_value(item))
    else:
        yield value
