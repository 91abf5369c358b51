"""Messages that travel as one attribute per leaf, under numbers: `llm.input_messages.0.message.role`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from retrospan.ingest.interpret.messages.empty_questions import begins, is_empty_question
from retrospan.ingest.interpret.messages.message import Message, parts_of
from retrospan.ingest.interpret.messages.message_cache import PrefixCache
from retrospan.ingest.interpret.messages.messages import read_message
from retrospan.ingest.interpret.messages.roles import role_named
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.spans.unflatten import Leaves, leaves_of, missing_indexes
from retrospan.ingest.json_text import read_value

#: A message with no other field lost what it said.
_OUTSIDE = {"role", "name", "tool_call_id"}
#: Under which names an indexed message stands once more, and where the id of the call stands that it answers.
_WRAPPERS = ("message", "prompt", "completion")
_OWN_ID = re.compile(r"(?:(?:message|prompt|completion)\.)?tool_call_id")


class IndexedMessages(NamedTuple):
    """What stands under numbers: the messages that say something, and whether all do. Where not, `answered` are these with
    the results of tools of which nothing is there but that they were given."""

    said: list[Message]
    is_whole: bool
    answered: list[Message]


def indexed_messages(
    sent: Span,
    places: SpanFields,
    prefixes: tuple[str, ...],
    role: str,
    problems: ParseIssues,
    growing: PrefixCache,
) -> IndexedMessages:
    """Return the messages under the first prefix that has some."""
    for prefix in filter(places.indexed.__contains__, prefixes):
        elements = leaves_of(sent.attributes, prefix)
        missing = missing_indexes(elements)
        if missing:
            problems.add(
                sent.span_id, prefix, f"missing: {missing}", "indexes have gaps: these never arrived"
            )
        found = read_indexed(elements.values(), role, growing)
        if found.said:
            return found
    return IndexedMessages([], is_whole=True, answered=[])


def read_indexed(elements: Iterable[Leaves], role: str, growing: PrefixCache) -> IndexedMessages:
    """Return the messages of some elements in order."""
    said: list[Message] = []
    answered: list[Message] = []
    asked: set[str | None] = set()
    is_whole = True
    for leaves in elements:
        message = growing.indexed(leaves, role, _element)
        if (message is None or message["role"] == "user") and asked and _answered_id(leaves) in asked:
            message = growing.indexed(leaves, "tool", _answering)
        if message is None or (is_empty_question(message) and not begins(said)):
            is_whole = False
            if _says_that_a_tool_answered(leaves):
                answered.append({"role": "tool", "parts": [{"type": "tool_call_response", "response": None}]})
            continue
        said.append(message)
        answered.append(message)
        asked.update(call_id for part in parts_of(message, "tool_call") if (call_id := part.get("id")))
    return IndexedMessages(said, is_whole, answered)


def _says_that_a_tool_answered(leaves: Leaves) -> bool:
    return any(
        path.rpartition(".")[2] == "role" and isinstance(role, str) and role_named(role) == "tool"
        for path, role in leaves
    )


def _answered_id(leaves: Leaves) -> str | None:
    """Return the id of a call that stands beside what an indexed message says, as one of its own fields."""
    return next((said for path, said in leaves if _OWN_ID.fullmatch(path) and isinstance(said, str)), None)


def _answering(element: dict[str, object], role: str) -> Message | None:
    """Read an indexed message that answers a call, whoever it says that it is from: APIs have results among what users say."""
    for key in _WRAPPERS:
        inner = element.get(key)
        if isinstance(inner, dict):
            return _element({**element, key: {**inner, "role": role}}, role)
    return _element({**element, "role": role}, role)


def _element(element: dict[str, object], role: str) -> Message | None:
    """Read one indexed message; OpenInference wraps it, its calls and its contents once more."""
    message = next((element[key] for key in _WRAPPERS if key in element), element)
    if not isinstance(message, dict):
        return None
    opened = dict(message)
    thought = element.get("thought") if message is not element else None
    if isinstance(thought, str) and thought and opened.get("tool_calls") and not opened.get("content"):
        opened["content"] = thought  # the text before calls, beside the message that holds them
    if "tool_calls" in opened:
        opened["tool_calls"] = read_value(opened["tool_calls"])  # all may stand in one attribute, as JSON
    for key, wrapper in (("tool_calls", "tool_call"), ("contents", "message_content")):
        items = opened.get(key)
        if isinstance(items, list):
            opened[key] = [item.get(wrapper, item) if isinstance(item, dict) else item for item in items]
    if not any(opened.get(key) for key in ("content", "contents", "tool_calls")):
        # The results of several tools may stand beside the message, one text each.
        beside = [
            item
            for key, items in element.items()
            if key != "message" and isinstance(items, list)
            for item in items
        ]
        if not beside and opened.keys() <= _OUTSIDE:
            return None
        opened["content"] = [read_value(item) for item in beside] or opened.get("content")
    if opened.get("tool_calls") and "role" not in opened:
        role = "assistant"  # nobody else calls
    contents = opened.pop("contents", None)
    if isinstance(contents, list) and not opened.get("content"):
        # A call stands among the contents as well where the API mixes them: it is taken from the calls.
        opened["content"] = [
            item for item in contents if not isinstance(item, dict) or item.get("type") != "tool_use"
        ]
    return read_message(opened, role)
