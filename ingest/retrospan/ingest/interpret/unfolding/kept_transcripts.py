"""Requests of which an instrumentation tells the texts alone: completed by the transcript that the agent around them returned.

A program that keeps all that was said in its state returns it with the answer. The requests of the run, and its prompts, tell
no call and no result; they hold just the texts of the transcript, up to their answers, one after the other. Anything that is
told otherwise, and nothing is completed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.messages.message import Message, parts_of, text_of
from retrospan.ingest.interpret.messages.messages import read_messages
from retrospan.ingest.interpret.messages.response_usage import parse_usage
from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.interpret.normalize.model_names import is_version
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.exchange import are_messages
from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.untold_answers import take_turns
from retrospan.ingest.json_text import read_value

_AROUND = ("agent", "workflow", "step")
_MARKS = ('"role":', "'role':", '"lc":')
#: How deep in a value a transcript is looked for.
_DEPTH = 5


def complete_from_transcripts(tree: Tree, requests: Sequence[NormalizedSpan]) -> None:
    """Give requests and answers the calls and results that they leave out, in place."""
    if not requests or any(map(_tells_acts, requests)) or not take_turns(requests):
        return
    if not any(not text_of(message) for span in requests for message in span.output or [_EMPTY]):
        return
    for transcript, models in _transcripts(tree):
        places = [at for at, message in enumerate(transcript) if message["role"] == "assistant"]
        done = [span for span in requests if not span.failed]
        places = places[-len(done) :]
        if (
            not done
            or len(places) < len(done)
            or not any(parts_of(transcript[at], "tool_call") for at in places)
        ):
            continue
        pairs = [*zip(done, places, strict=True)]
        if all(_fits(span, transcript, at) for span, at in pairs):
            for span, at in pairs:
                span.input, span.output = [*transcript[:at]], [transcript[at]]
                named = models[at]
                if named and span.response_model and is_version(named, span.response_model):
                    span.response_model = named
            for span in requests:
                if span.failed and _texts(span.input) == _texts(transcript):
                    span.input = transcript
            return


_EMPTY: Message = {"role": "assistant", "parts": []}


def _tells_acts(span: NormalizedSpan) -> bool:
    return any(
        part["type"] == "tool_call" for message in (*span.input, *span.output) for part in message["parts"]
    )


def _transcripts(tree: Tree) -> Iterator[tuple[list[Message], list[str | None]]]:
    """Yield what was said but for instructions, and the model that each message names."""
    for span in tree.spans:
        if span.operation in _AROUND:
            for listed in kept_lists(span):
                told = [(said, parse_usage(kept).model) for kept in listed for said in read_messages(kept)]
                kept_apart = [(said, model) for said, model in told if said["role"] != "system"]
                yield [said for said, _ in kept_apart], [model for _, model in kept_apart]


def kept_lists(span: NormalizedSpan) -> Iterator[list[object]]:
    """Yield the lists of messages that a span holds in its values, in JSON or as Python prints them, whatever they are called."""
    for value in span.sent.attributes.values():
        if isinstance(value, str) and value[:1] in ("{", "[") and any(mark in value for mark in _MARKS):
            read = read_value(value)
            yield from _lists(read_repr(value) if isinstance(read, str) else read, _DEPTH)


def _lists(value: object, depth: int) -> Iterator[list[object]]:
    """Yield the lists of messages in a value."""
    if isinstance(value, list) and are_messages(value):
        yield value
    elif depth:
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            if isinstance(inner, (dict, list)):
                yield from _lists(inner, depth - 1)


def _fits(span: NormalizedSpan, transcript: Sequence[Message], at: int) -> bool:
    """Tell whether a request tells just the texts of a transcript before an answer, and the text of that answer."""
    said = "".join(map(text_of, span.output))
    return _texts(span.input) == _texts(transcript[:at]) and said == text_of(transcript[at])


def _texts(messages: Sequence[Message]) -> list[object]:
    """Return the texts of messages, and what tools returned."""
    told = (
        part["response"] if "response" in part else part.get("content")
        for message in messages
        for part in message["parts"]
        if part["type"] in ("text", "tool_call_response")
    )
    return [response_of(each) for each in told if each not in (None, "")]
