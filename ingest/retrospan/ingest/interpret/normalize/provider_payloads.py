"""Whole requests and responses of model APIs that travel in one value: OpenAI, Anthropic, Gemini and frameworks around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from retrospan.ingest.interpret.normalize.kinds_of_parts import by_role
from retrospan.ingest.interpret.normalize.message import Message, Part
from retrospan.ingest.interpret.normalize.message_parts import read_part, tool_response
from retrospan.ingest.interpret.normalize.messages import definition_in, read_messages
from retrospan.ingest.interpret.normalize.named_results import with_roles
from retrospan.ingest.interpret.spans.chunks import whole_response
from retrospan.ingest.interpret.spans.exchange import plain_value, printed_messages
from retrospan.ingest.interpret.spans.exported_fields import with_plain_names
from retrospan.ingest.interpret.spans.printed import looks_printed
from retrospan.ingest.interpret.spans.pyrepr import read_repr, read_response, tells_response
from retrospan.ingest.interpret.spans.span_fields import whole
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
_USAGES = (
    "usage",
    "usage_metadata",
    "usageMetadata",
    "token_usage",
    "tokenUsage",
    "models_usage",
    "usage_details",
)
#: Details of counts, by the APIs of OpenAI and by LangChain.
_GIVEN = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_MADE = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_ANTHROPIC = {"cache_read_input_tokens", "cache_creation_input_tokens"}
_NOT_ANTHROPIC = {"prompt_tokens", "total_tokens", "input_token_details", "input_tokens_details"}
_CACHED = ("cached_tokens", "cache_read")
_MODELS = ("model", "model_version", "modelVersion", "model_name")
_INNER = (
    "raw",
    "custom",
    "response",
    "llm_output",
    "llmOutput",
    "message",
    "result",
    "meta",
    "response_metadata",
    "responseMetadata",
    "response_meta",
    "kwargs",
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
    if isinstance(read, dict) and read.keys() == {"args", "kwargs"} and not read["kwargs"]:
        return _read(read["args"][0]) if _is_text_alone(read["args"]) else []
    if isinstance(read, dict) and _is_text_alone(read.get("args")) and not any(map(_may_tell, read.items())):
        return _read(read["args"][0])
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


def _is_text_alone(given: object) -> bool:
    return isinstance(given, list) and len(given) == 1 and isinstance(given[0], str)


def _may_tell(argument: tuple[str, object]) -> bool:
    """Tell whether an argument that was given by name may be what was asked, and not an option."""
    name, value = argument
    return name != "args" and bool(value) and not isinstance(value, bool | int | float)


def _some(value: object) -> object:
    """Return a value read; JSON's null as a text is none: there was no request, or no response."""
    return None if value == "null" else with_plain_names(whole_response(read_value(value)))


def _opened(value: object) -> object:
    """Return the value inside `{"inputs": …}` and `{"kwargs": …}`; a request that Python printed is read."""
    value = plain_value(_some(value))
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
    value = plain_value(_some(value))
    if isinstance(value, str):
        told = read_response(value) if tells_response(value) else None
        if isinstance(told, dict):
            return parse_answer(told, depth)
        printed = read_repr(value) if value.endswith(")") else printed_messages(value)
        return read_messages(value if isinstance(printed, Unreadable) else printed, "assistant")
    is_message = isinstance(value, dict) and (
        str(value.get("type")).endswith(("Message", "MessageChunk"))
        or ("content" in value and isinstance(calls := value.get("tool_calls"), list) and bool(calls))
    )
    if isinstance(value, dict) and not ("role" in value or "parts" in value or is_message):
        for key in _ANSWERS:
            if value.get(key):
                inner = value[key]
                said = [message for item in _flat(inner) for message in _answer_in(item, depth)]
                if said:
                    return said
                if depth and isinstance(inner, dict) and (said := parse_answer(inner, depth - 1)):
                    return said
    return [message for item in _flat(value) for message in _answer_in(item, depth)]


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


def _flat(value: object) -> Iterator[object]:
    if isinstance(value, list):
        for item in value:
            yield from _flat(plain_value(item))
    else:
        yield value


@dataclass(slots=True)
class Usage:
    """What a response says of itself beside its answer."""

    model: str | None = None
    input: int | None = None
    output: int | None = None
    cached: int | None = None
    written: int | None = None
    reasoning: int | None = None


def parse_usage(value: object) -> Usage:
    """Return model and token counts of a response, wherever in it they stand."""
    found = Usage()
    for place in _responses(_some(value)):
        usage = _usage_in(place)
        model = next((named for key in _MODELS if isinstance(named := place.get(key), str)), None)
        found.model = found.model or model
        if usage is not None and found.input is None:
            found.input = _first(
                usage,
                "input_tokens",
                "prompt_tokens",
                "prompt_token_count",
                "promptTokenCount",
                "inputTokens",
                "promptTokens",
                "inputTokenCount",
                "prompt_eval_count",
                "input",
            )
            found.output = _first(
                usage,
                "output_tokens",
                "completion_tokens",
                "candidates_token_count",
                "candidatesTokenCount",
                "outputTokens",
                "completionTokens",
                "outputTokenCount",
                "eval_count",
                "output",
            )
            found.cached = _first(
                usage, "cache_read_input_tokens", "cached_content_token_count", "cachedContentTokenCount"
            )
            found.cached = (
                found.cached if found.cached is not None else _first(_inside(usage, _GIVEN), *_CACHED)
            )
            found.written = _first(usage, "cache_creation_input_tokens")
            found.reasoning = _first(usage, "thoughts_token_count", "thoughtsTokenCount")
            if found.reasoning is not None and found.output is not None:
                found.output += found.reasoning  # Gemini counts its thoughts apart
            if found.reasoning is None:
                found.reasoning = _first(_inside(usage, _MADE), "reasoning_tokens", "reasoning")
            _add_parts(found, usage)
            if found.input is not None and usage.keys() >= _ANTHROPIC and not usage.keys() & _NOT_ANTHROPIC:
                # The Anthropic API counts what was read from and written to the cache apart, and gives no total.
                found.input += (found.cached or 0) + (found.written or 0)
    return found


def _usage_in(place: dict[str, object]) -> dict[str, object] | None:
    """Return the counts of a response: those of Ollama stand in the response itself, those of Cohere once more inside."""
    if "prompt_eval_count" in place or "eval_count" in place:
        return place
    usage = next((inner for key in _USAGES if isinstance(inner := place.get(key), dict)), None)
    for key in ("tokens", "billed_units"):
        inner = (usage or place).get(key)
        if isinstance(inner, dict) and "input_tokens" in inner:
            return inner
    return usage


def _add_parts(found: Usage, usage: dict[str, object]) -> None:
    """Add the parts of a count that stand beside it, such as `input_cache_read`, where the total says that they do."""
    total = _first(usage, "total", "total_tokens")
    if total is None or found.input is None or found.output is None or "input" not in usage:
        return
    if found.cached is None:
        found.cached = _first(usage, "input_cache_read", "cache_read_input_tokens")
    if found.reasoning is None:
        found.reasoning = _first(usage, "output_reasoning")
    given, made = (
        sum(whole(count) or 0 for name, count in usage.items() if name.startswith(side))
        for side in ("input_", "output_")
    )
    if found.input + found.output != total and found.input + given + found.output + made == total:
        found.input, found.output = found.input + given, found.output + made


def _inside(usage: dict[str, object], keys: tuple[str, ...]) -> dict[str, object]:
    """Return the details that a count is given with."""
    return next((inner for key in keys if isinstance(inner := usage.get(key), dict)), {})


def _responses(value: object, depth: int = 4) -> Iterator[dict[str, object]]:
    """Yield the value and the responses inside it that frameworks keep beside their own form."""
    if isinstance(value, str) and depth:
        if tells_response(value):
            value = read_response(value)
        elif value.endswith(")"):
            value = read_repr(value)
    if not isinstance(value, dict):
        return
    yield value
    if depth:
        for key in _INNER:
            if key in value:
                yield from _responses(value[key], depth - 1)
        for key in ("generations", "replies"):
            if key in value:
                yield from _responses(next(_flat(value[key]), None), depth - 1)


def _first(usage: dict[str, object], *keys: str) -> int | None:
    for key in keys:
        if key in usage:
            value = usage[key]
            # A count may stand with its parts, as in `{"total": 20, "noCache": 20}`.
            number = whole(value.get("total") if isinstance(value, dict) else value)
            if number is not None:
                return number
    return None
