"""What all wire forms share: a request that was read, a recorded answer before it has a form, a reply in bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

JSON = dict[str, Any]
#: Whether a text begins as Python reads JSON: with NaN and Infinity. Trying costs more, and every message is read with
#: each request.
_MAY_BE_JSON = re.compile(r'[ \t\n\r]*[{\["\-0-9tfnNI]').match


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to a model, in the form of the GenAI conventions, whatever provider it is meant for."""

    form: str
    """The name of the wire form."""
    model: str | None
    streamed: bool
    system: list[JSON]
    """Parts of the instructions; those at the head of the messages are here too."""
    messages: list[JSON]
    tools: list[JSON] | None
    """What each tool is called, says of itself and takes; None where the request offers none."""
    parameters: JSON
    """By the names of the GenAI conventions: temperature, max_tokens, seed …"""
    choices: int = 1
    with_usage: bool = True
    """Whether a stream ends with the counts of tokens."""
    echo: JSON = field(default_factory=dict)
    """Fields of the request that the provider's answer repeats."""


class Choice(NamedTuple):
    """One answer among those asked for: its parts, and why it ended, as recorded."""

    parts: tuple[JSON, ...]
    finish: str | None


class Answer(NamedTuple):
    """A recorded answer before a provider's form is given to it."""

    id: str
    model: str
    created: int
    """Seconds since 1970."""
    choices: tuple[Choice, ...]
    usage: Mapping[str, int]
    """What is known of: input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens."""


class Refusal(NamedTuple):
    """A recorded error: the status that the client saw, its body if that is known, else its message."""

    status: int
    type: str
    message: str
    body: JSON | None = None


class Cut(NamedTuple):
    """How a stream ended in its middle."""

    kind: Literal["timeout", "connection"]
    message: str


class Reply(NamedTuple):
    """What goes back to the client."""

    status: int
    content_type: str
    chunks: tuple[bytes, ...]
    headers: tuple[tuple[str, str], ...] = ()
    cut: Cut | None = None
    """What breaks off after the last chunk; None where the reply is whole."""

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)


class Form(NamedTuple):
    """One provider's wire form. All its functions are pure."""

    name: str
    is_spoken_at: Callable[[str, str], bool]
    """Takes host and path."""
    read: Callable[[str, JSON], Asked]
    """Takes the path and the body of a request."""
    whole: Callable[[Answer, Asked], JSON]
    stream: Callable[[Answer, Asked], Iterator[bytes]]
    refuse: Callable[[Refusal], JSON]
    as_request: Callable[[JSON], JSON]
    """Takes an answer; returns a request that holds nothing else. Raises KeyError or TypeError for what is not an
    answer.
    """
    instruct: Callable[[JSON, str], None]
    """Puts other instructions into the body of a request."""
    stream_type: str = "text/event-stream; charset=utf-8"
    piece: bytes = b""
    """What only those chunks of a stream hold that bring a piece of the answer; empty where the last brings the end as
    well.
    """


def dumped(value: object) -> str:
    """Return JSON as providers write it."""
    return json.dumps(value, ensure_ascii=False)


def data(value: object) -> bytes:
    """Return one server-sent event without a name."""
    return f"data: {dumped(value)}\n\n".encode()


def named(kind: str, value: object) -> bytes:
    """Return one server-sent event with its name."""
    return f"event: {kind}\n".encode() + data(value)


def parsed(text: object) -> object:
    """Return the value of a JSON text, or the text itself where it is not JSON."""
    if not isinstance(text, str) or not _MAY_BE_JSON(text):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def argument_text(arguments: object) -> str:
    """Return arguments as the text that OpenAI's forms hold; text that is not JSON stays as the model wrote it."""
    if arguments is None:
        return "{}"
    return arguments if isinstance(arguments, str) else dumped(arguments)


def argument_object(arguments: object) -> object:
    """Return arguments as the object that other forms hold."""
    found = parsed(arguments)
    return {} if found is None else found


def text_part(content: object) -> JSON:
    return {"type": "text", "content": content}


def call_part(call_id: object, name: object, arguments: object) -> JSON:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": parsed(arguments)}


def result_part(call_id: object, response: object) -> JSON:
    return {"type": "tool_call_response", "id": call_id, "response": parsed(response)}


def message(role: str, parts: Iterable[JSON]) -> JSON:
    return {"role": role, "parts": list(parts)}


def parts_of(parts: Iterable[JSON], kind: str) -> list[JSON]:
    return [part for part in parts if part.get("type") == kind]


def text_of(parts: Iterable[JSON]) -> str | None:
    """Return the text of parts, None where there is none."""
    texts = [part["content"] for part in parts_of(parts, "text") if isinstance(part.get("content"), str)]
    return "".join(texts) if texts else None


def dicts(value: object) -> list[JSON]:
    """Return the objects of a list, nothing for what is not one."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def without_head(messages: list[Any]) -> list[Any]:
    """Return messages without those at the head that instruct."""
    at = 0
    while (
        at < len(messages)
        and isinstance(messages[at], dict)
        and messages[at].get("role") in ("system", "developer")
    ):
        at += 1
    return messages[at:]


def split(text: str, size: int = 48) -> Iterator[str]:
    """Return a text in pieces, as a stream brings it."""
    for start in range(0, len(text), size):
        yield text[start : start + size]


def chosen(source: JSON, names: Mapping[str, str]) -> JSON:
    """Return the fields that are there and not null, under other names."""
    return {ours: source[theirs] for theirs, ours in names.items() if source.get(theirs) is not None}


def finish_of(choice: Choice, by_reason: Mapping[str, str], for_calls: str, otherwise: str) -> str:
    """Return why an answer ended, in a form's own words.

    What was recorded may be in another form's words, or in the words of the conventions.
    """
    has_calls = bool(parts_of(choice.parts, "tool_call"))
    if choice.finish is None:
        return for_calls if has_calls else otherwise
    # Some record a member of an enumeration: FinishReason.TOOL_CALLS.
    said = choice.finish.rpartition(".")[2]
    found = by_reason.get(said.lower(), said.lower() if said != choice.finish else said)
    return for_calls if has_calls and found == otherwise else found
