"""The messages of a span: from attributes, log records, indexed attributes, events, or a whole request and response."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from retrospan.ingest.interpret.messages.completion import (
    answered_once,
    completed,
    has_gaps,
    has_results,
    is_fuller,
    lacks_results,
    may_tell_failures,
)
from retrospan.ingest.interpret.messages.empty_questions import only_questions
from retrospan.ingest.interpret.messages.finish_reasons import FOR_TOOLS
from retrospan.ingest.interpret.messages.indexed_messages import (
    IndexedMessages,
    indexed_messages,
    read_indexed,
)
from retrospan.ingest.interpret.messages.message import Message, parts_of
from retrospan.ingest.interpret.messages.message_cache import PrefixCache
from retrospan.ingest.interpret.messages.messages import NOTHING, read_message, read_messages
from retrospan.ingest.interpret.messages.named_results import with_named_results
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer, parse_request
from retrospan.ingest.interpret.messages.roles import SPEAKERS
from retrospan.ingest.interpret.messages.spoken_results import with_spoken_results
from retrospan.ingest.interpret.normalize.instructions import complete_instructions, read_instructions
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.refused_requests import refused_request
from retrospan.ingest.interpret.normalize.retold_rounds import take_rounds
from retrospan.ingest.interpret.normalize.unusual_places import (
    flattened_answer,
    take_answer,
    take_calls,
    take_history,
    told_inside,
)
from retrospan.ingest.interpret.spans.exchange import asks, is_json_text
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Attributes, Span
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.spans.unflatten import leaves_of
from retrospan.ingest.interpret.spans.vocabulary import Vocabulary
from retrospan.ingest.json_text import Unreadable, read_value, write_json
from retrospan.schemas import semconv

#: Older conventions: one event per message, by name; the answer is a choice.
_MESSAGE_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    semconv.TOOL_MESSAGE: "tool",
    "gen_ai.content.prompt": "user",
}
#: What says something in an event of a message.
_SAYING = ("content", "message", "parts", "tool_calls", "function_call")
#: What an attribute with a number says of a message, beside its role.
_INDEXED_CONTENTS = {"content", "text", "parts", "name", "tool_call_id", "arguments"}
#: How attributes are called that hold a list of events.
_EVENTS = "events"
#: How events that are called otherwise say that they hold an answer.
_OF_ANSWERS = re.compile("completion|choice|response|output|answer|generation", re.IGNORECASE)
#: How the leaf of one of several messages is named.
_NUMBERED = re.compile(r"(?:messages|choices)\.\d")
#: What a response has in it that asks for tools.
_MAY_HOLD_CALLS = re.compile(r"(?i)tool_?(?:call|use|request)|function_?call")
_CHOICE_EVENTS = (semconv.CHOICE, "gen_ai.content.completion")


def read_content(
    sent: Span, places: SpanFields, span: NormalizedSpan, problems: ParseIssues, growing: PrefixCache
) -> None:
    """Read system instructions, input and output messages, in place."""
    names = places.names
    system = places.any(semconv.SYSTEM_INSTRUCTIONS)
    if system is not None:
        span.system = read_instructions(system, places, span, problems)
    span.input = _messages(places, semconv.INPUT_MESSAGES, "user", span, problems, growing)
    numbered = IndexedMessages(span.input, is_whole=True, answered=[])
    if not span.input:
        numbered = indexed_messages(sent, places, names.indexed_prompts, "user", problems, growing)
        span.input = numbered.said
    span.output = _messages(places, semconv.OUTPUT_MESSAGES, "assistant", span, problems, growing)
    if not span.output:
        answers = indexed_messages(sent, places, names.indexed_answers, "assistant", problems, growing)
        span.output = answers.said
    if not span.input and not span.output:
        may_tell = bool(sent.logs or sent.events) and places.exchange is None
        said = list(_event_messages(sent, names)) if may_tell else []
        are_answers = span.operation == "inference" and _are_answers(said)
        span.input = [message for is_answer, message in said if not (is_answer or are_answers)]
        span.output = [message for is_answer, message in said if is_answer or are_answers]
    if not span.input and not span.output and span.operation == "inference":
        numbered = _read_by_shape(sent, places, span, growing)
    _complete(sent, places, span, is_whole=numbered.is_whole)
    if not numbered.is_whole and len(span.input) == len(numbered.said):
        span.input = numbered.answered  # nothing says more
    if span.operation == "inference" and len(span.input) < 2:
        take_history(places, span)
    if not span.input and not span.output and span.operation == "inference" and _EVENTS in places.listed:
        said = list(_listed_events(places))
        span.input = [message for is_answer, message in said if not is_answer]
        span.output = [message for is_answer, message in said if is_answer]
    if not span.output and span.operation == "inference":
        if not span.failed:
            take_answer(places, span)
        elif not span.input:
            span.input = refused_request(sent, span)
    if span.finish_reasons and _says_nothing(span):
        span.output = []
    if span.operation == "inference" and not span.failed and not _tells_call(span.output):
        take_calls(places, span)
    _name_call(places, span)
    span.input = answered_once(with_spoken_results(with_named_results(only_questions(span.input))))
    if span.operation == "inference" and not span.system and span.input and span.input[0]["role"] != "system":
        span.input = [*_systems_in_events(sent, names), *span.input]
    complete_instructions(places, span)
    if span.operation == "inference" and span.output:
        take_rounds(places, span)


def _name_call(places: SpanFields, span: NormalizedSpan) -> None:
    """Give the only call of an answer the id that its span says beside it, which the results know: APIs have ids of items as
    well."""
    call_id = places.text(semconv.TOOL_CALL_ID) if span.operation == "inference" else None
    calls = [part for message in span.output for part in parts_of(message, "tool_call")] if call_id else []
    if (
        call_id
        and len(calls) == 1
        and calls[0].get("name") == (places.text(semconv.TOOL_NAME) or calls[0].get("name"))
    ):
        # A message may be remembered: it stays as it is.
        span.output = [
            {
                **message,
                "parts": [{**part, "id": call_id} if part is calls[0] else part for part in message["parts"]],
            }
            for message in span.output
        ]


def _says_nothing(span: NormalizedSpan) -> bool:
    """Tell whether an answer that ended for calls is only what a language prints for nothing."""
    texts = [part.get("content") for message in span.output for part in message["parts"]]
    return len(texts) == 1 and texts[0] in NOTHING and all(map(FOR_TOOLS.search, span.finish_reasons))


def _messages(
    places: SpanFields,
    key: str,
    role: str,
    span: NormalizedSpan,
    problems: ParseIssues,
    growing: PrefixCache,
) -> list[Message]:
    value = places.any(key)
    if not isinstance(value, str) or value[:1] not in ("[", "{"):
        return read_messages(value, role)
    read = growing.read(key, value, role)
    if isinstance(read, Unreadable):
        problems.add(span.sent.span_id, key, value, read.reason)
        return []
    return read


def _read_by_shape(
    sent: Span, places: SpanFields, span: NormalizedSpan, growing: PrefixCache
) -> IndexedMessages:
    """Read messages that stand under numbers, whatever these are called, in place, and return those of the prompt."""
    prompt = IndexedMessages([], is_whole=True, answered=[])
    for prefix in sorted(places.indexed):
        elements = [*leaves_of(sent.attributes, prefix).values()]
        told = [{path.rpartition(".")[2] for path, _ in leaves} for leaves in elements]
        if not all("role" in names for names in told) or not any(map(_INDEXED_CONTENTS.intersection, told)):
            continue
        found = read_indexed(elements, "user", growing)
        if found.said and all(message["role"] == "assistant" for message in found.said):
            span.output = span.output or found.said
        elif not prompt.said:
            prompt = found
            span.input = prompt.said
    if not span.output:
        span.output = flattened_answer(sent, places)
    return prompt


def _complete(sent: Span, places: SpanFields, span: NormalizedSpan, *, is_whole: bool) -> None:
    """Complete the content from whole requests and responses, and from vendors' keys for their parts."""
    names = places.names
    told = _told_requests(places) if span.operation == "inference" else []
    if not span.input or sent.dropped_attributes:
        # Many attributes for many messages: the limit on attributes may have eaten the oldest.
        for value in told:
            request = parse_request(places.read(value))
            if len(request.messages) > len(span.input):
                span.input = request.messages
                span.tool_definitions = span.tool_definitions or request.tools
    if told and span.input:
        # The histories are long: they are only looked through where something may complete them.
        gaps = not is_whole or has_gaps(span.input) or lacks_results(span.input)
        for value in told if gaps or has_results(span.input) else ():
            if gaps or may_tell_failures(value):
                other = parse_request(places.read(value)).messages
                span.input = other if is_fuller(other, span.input) else completed(span.input, other)
    if has_gaps(span.output):
        for value in places.responses:
            span.output = completed(span.output, parse_answer(places.read(value)))
    elif (
        span.output
        and span.operation == "inference"
        and not places.has(semconv.OUTPUT_MESSAGES)
        and (not span.finish_reasons or any(map(FOR_TOOLS.search, span.finish_reasons)))
        and not _tells_call(span.output)
    ):
        for value in places.responses:
            if isinstance(value, str) and _MAY_HOLD_CALLS.search(value):
                other = parse_answer(places.read(value))
                span.output = other if _tells_call(other) and is_fuller(other, span.output) else span.output
    if not span.output and not span.failed:
        text = places.text(*names.answer_texts)
        parts = [*([{"type": "text", "text": text}] if text else []), *_calls_apart(places)]
        answer = read_message({"role": "assistant", "content": parts})
        span.output = [answer] if answer else []
    if span.operation == "inference" and not span.output and not span.failed:
        returned = [places.read(value) for value in places.responses]
        answers = (parse_answer(value) for value in returned if not asks(value))
        span.output = next((said for said in answers if said), [])
        if has_gaps(span.output):
            for value in returned:
                span.output = completed(span.output, told_inside(value))
        if not span.output and any(map(asks, returned)):
            span.operation = "other"  # it prepares a request, and returns it


def _tells_call(messages: list[Message]) -> bool:
    return any(part["type"] == "tool_call" for message in messages for part in message["parts"])


def _told_requests(places: SpanFields) -> list[object]:
    """Return the values that may hold the messages of a request."""
    prompts = places.names.prompts
    if not places.has_any(prompts):
        return places.requests
    return [*places.each(*prompts, *places.names.requests)]


def _calls_apart(places: SpanFields) -> list[dict[str, object]]:
    calls = places.value(places.names.answer_calls)
    return (
        [{**call, "type": "tool_call"} for call in calls if isinstance(call, dict)]
        if isinstance(calls, list)
        else []
    )


def _event_messages(sent: Span, names: Vocabulary) -> Iterator[tuple[bool, Message]]:
    """Yield (is it the answer, message) of the per-message events of a span and its log records, in their order.

    A message that is told in both forms is one.
    """
    records = [(record.order, True, record.event, record.body, record.attributes) for record in sent.logs]
    records += [
        ((event.time_ns, index, ""), False, event.name, None, event.attributes)
        for index, event in enumerate(sent.events)
    ]
    told = [
        (is_record, said)
        for _, is_record, name, body, attributes in sorted(records, key=lambda record: record[:2])
        for said in _told_messages(name, body, attributes, names)
    ]
    both = len({is_record for is_record, _ in told}) > 1
    recorded = Counter(write_json(said) for is_record, said in told if is_record) if both else Counter[str]()
    for is_record, said in told:
        if not is_record and both and recorded[text := write_json(said)]:
            recorded[text] -= 1
        else:
            yield said


def _systems_in_events(sent: Span, names: Vocabulary) -> list[Message]:
    """Return what events say that the system said, beside a prompt in attributes that leaves it out."""
    if not any(_MESSAGE_EVENTS.get(each.name) == "system" for each in sent.events):
        return []
    return [
        message
        for is_answer, message in _event_messages(sent, names)
        if not is_answer and message["role"] == "system"
    ]


def _are_answers(said: list[tuple[bool, Message]]) -> bool:
    """Tell whether events that tell no answer as one tell answers and results alone: of a thread that an API keeps, what came
    of it, and not what was asked."""
    roles = [message["role"] for is_answer, message in said if not is_answer]
    if len(roles) < len(said) or not {*roles} <= {"assistant", "tool"} or roles[-1:] != ["assistant"]:
        return False
    return roles[0] == "assistant" and not parts_of(said[-1][1], "tool_call")


def _told_messages(
    name: str, body: object, attributes: Attributes, names: Vocabulary
) -> Iterator[tuple[bool, Message]]:
    """Yield (is it the answer, message) of one event or log record."""
    is_answer = name in _CHOICE_EVENTS
    role = "assistant" if is_answer else _MESSAGE_EVENTS.get(name)
    if role is None:
        yield from _both_ways(body)
        yield from _named_otherwise(name, attributes)
        return
    whole = attributes.get(semconv.COMPLETION if is_answer else semconv.PROMPT)
    if whole is not None:
        yield from ((is_answer, message) for message in read_messages(whole, role))
        return
    said = read_value(body)
    if not isinstance(said, dict):
        said = read_value(attributes.get(names.event_contents))
    content = (
        said
        if isinstance(said, dict)
        else {key.removeprefix("gen_ai."): value for key, value in attributes.items()}
    )
    if content is not said and content.keys().isdisjoint(_SAYING):
        if any(_NUMBERED.match(key) for key in content):
            return  # whole prompts and answers, one attribute per leaf: no leaf is a message
        # Whatever the name: an event of a message holds little else that is a list or an object.
        told = next(filter(is_json_text, content.values()), None)
        if told is None and role == "tool":
            return  # which call was answered, and not with what
        content = {"content": told}
    inner = read_value(content.get("message"))
    if isinstance(inner, list | str):
        inner = {"content": inner}
    nested = content.get("content")
    if inner is None and isinstance(nested, dict) and "parts" in nested:
        inner = nested
    own = inner if isinstance(inner, dict) else content
    message = read_message({**own, "role": own.get("role") or role}, role)
    if message:
        yield is_answer, message


def _listed_events(places: SpanFields) -> Iterator[tuple[bool, Message]]:
    """Yield the messages of events that stand as a list in one attribute, as Logfire has them."""
    for key, value in places.all[0].items():
        listed = places.read(value) if key.endswith("events") else None
        for each in listed if isinstance(listed, list) else ():
            name = each.get(semconv.EVENT_NAME) if isinstance(each, dict) else None
            if isinstance(name, str):
                yield from _told_messages(name, each, {}, places.names)


def _named_otherwise(name: str, attributes: Attributes) -> Iterator[tuple[bool, Message]]:
    """Yield the message of an event of any name whose attributes say who speaks, and what."""
    if not any(key.endswith("role") for key in attributes):
        return
    said = {key.rpartition(".")[2]: value for key, value in attributes.items()}
    if said.get("role") and not said.keys().isdisjoint(_SAYING):
        if isinstance(said.get("tool_calls"), str):
            said["tool_calls"] = read_value(said["tool_calls"])
        message = read_message(said)
        if message and message["role"] in SPEAKERS:
            yield _OF_ANSWERS.search(name) is not None, message


def _both_ways(body: object) -> Iterator[tuple[bool, Message]]:
    """Yield the messages of a log record that holds a whole exchange, `{"input": {"messages": …}, "output": {…}}`."""
    said = read_value(body)
    if isinstance(said, dict):
        for key, role in (("input", "user"), ("output", "assistant")):
            inner = said.get(key)
            if isinstance(inner, dict) and isinstance(inner.get("messages"), list):
                yield from ((key == "output", message) for message in read_messages(inner, role))
