"""What log records tell of tools and of the person: a program may have spans for its calls, and say elsewhere what they are.

A record is about the execution whose call id it names. What a person asked stands in a record of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.facts import TAKEN_OUT
from retrospan.ingest.interpret.spans.name_words import words_of
from retrospan.ingest.interpret.spans.span import Attributes
from retrospan.ingest.json_text import read_value
from retrospan.schemas import semconv

_GIVEN = ("arguments", "args", "parameters", "input")
_RETURNED = ("output", "result", "return")
#: Where a record says in words how it went, and which of them say that it failed.
_FATE = re.compile(r"(?:^|[._])(?:success|succeeded|is_error|isError)\Z")
_FAILED = {"success": "false", "succeeded": "false", "is_error": "true", "isError": "true"}
#: The event of a person's words, and where they stand in it.
_ASKED = re.compile(r"(?:^|[._:/])user[._]?(?:prompt|message|query|question)\Z")
_WORDS = ("prompt", "message", "text", "content", "query", "question")
#: What agents on the command line write over the output of a tool, for the model to read.
_HEADER = re.compile(r"(?:(?:Wall time|Exit code|Duration): [^\n]{1,80}\n)+(?:Output|Stdout):\n")


def complete_from_records(spans: Sequence[NormalizedSpan]) -> None:
    """Complete executions from the log records that name their call, and note what a person asked, in place."""
    telling = [span for span in spans if span.sent.logs]
    if not telling:
        return
    for span in telling:
        for record in span.sent.logs:
            # Some give the event a name of their code, and tell what it is beside.
            called = (record.event, record.attributes.get(semconv.EVENT_NAME))
            if span.asked is None and any(isinstance(name, str) and _ASKED.search(name) for name in called):
                span.asked = _words(record.attributes, record.body)
    ran = _by_ids(spans)
    for span in telling if ran else ():
        for record in span.sent.logs:
            for value in record.attributes.values():
                tool = ran.get(value) if isinstance(value, str) else None
                if tool is not None:
                    _complete(tool, record.attributes)


def _words(attributes: Attributes, body: object) -> str | None:
    """Return what a person said in a record; None where it is left out."""
    said = [attributes.get(name) for name in _WORDS]
    said += [body] if all(text is None for text in said) else []
    return next((text for text in said if isinstance(text, str) and text and text not in TAKEN_OUT), None)


def _by_ids(spans: Iterable[NormalizedSpan]) -> dict[str, NormalizedSpan]:
    """Return the executions that lack something, by the id of their call: an id that several have tells none of them."""
    found: dict[str, NormalizedSpan] = {}
    several: set[str] = set()
    for span in spans:
        if span.operation == "tool" and span.tool_call_id:
            several |= {span.tool_call_id} & found.keys()
            found[span.tool_call_id] = span
    return {
        call_id: span
        for call_id, span in found.items()
        if call_id not in several and not (span.has_arguments and span.has_result)
    }


def _complete(tool: NormalizedSpan, told: Attributes) -> None:
    given, returned = _said(told, _GIVEN), _said(told, _RETURNED)
    if given is None and returned is None:
        return
    if given is not None and not tool.has_arguments:
        tool.arguments, tool.has_arguments = read_value(given), True
    failed = has_failed(told)
    if returned is not None and not tool.has_result:
        plain = _HEADER.sub("", returned, count=1) if isinstance(returned, str) else returned
        tool.result, tool.has_result = response_of(plain), True
    if failed and not tool.interrupted:
        tool.failed = True
        if tool.error_message is None and isinstance(tool.result, str):
            tool.error_message = tool.result


def has_failed(told: Attributes) -> bool:
    """Tell whether a record says in words that what it is about failed."""
    return any(
        _FAILED[match[0].lstrip("._")] == str(value).lower()
        for name, value in told.items()
        if (match := _FATE.search(name))
    )


def returned_in(told: Attributes) -> object:
    """Return what a record says that something returned; None where it does not."""
    return _said(told, _RETURNED)


def _said(told: Attributes, words: Iterable[str]) -> object:
    """Return the value of the first name that says one of some words; None where there is none, or it is not content."""
    for word in words:
        for name, value in told.items():
            if word in words_of(name) and isinstance(value, (str, dict, list)) and value != "":
                return value
    return None
