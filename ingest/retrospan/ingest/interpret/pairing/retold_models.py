"""The model that answered, where only another span says it: the answer is told there again, with its model.

The span around a call returns it, or the step that follows is given the response.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from retrospan.ingest.interpret.messages.message import Message, parts_of, text_of
from retrospan.ingest.interpret.messages.messages import read_message
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer
from retrospan.ingest.interpret.messages.response_usage import parse_usage
from retrospan.ingest.interpret.normalize.model_names import is_version
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.pyrepr import read_fields, read_repr
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.json_text import read_value

#: Lists and objects within one another in which an answer is looked for, and how many of them.
_DEPTH, _MOST = 7, 200
#: What the pieces of a streamed answer call themselves.
_CHUNKS = ("chat.completion.chunk",)
#: So many spans after a call may be the step that is given its answer.
_NEXT = 3


def complete_models(tree: Tree, requests: Sequence[NormalizedSpan]) -> None:
    """Name the models that answered from what the nearest span around each call returned, in place.

    One that is said to have answered by the name by which it was asked for is only named more exactly there.
    """
    wanting = [
        span
        for span in requests
        if span.response_model in (None, span.request_model) and span.output and not span.failed
    ]
    if not wanting:
        return
    around = tree.nearest(lambda span: span.framework_output is not None)
    read: dict[NormalizedSpan | None, dict[tuple[object, ...], str]] = {}
    for span in wanting:
        outer = around.get(span, tree.parent(span))
        if outer not in read:
            returned = outer.framework_output if outer is not None else None
            read[outer] = _models_in([returned] if returned is not None else _told_by(outer))
        model = read[outer].get(_said(span.output[-1]))
        if span.response_model is None or is_version(model, span.response_model):
            span.response_model = model
    wanting = [span for span in wanting if span.response_model is None]
    began = [span.sent.started_at for span in tree.spans] if wanting else []
    for span in wanting:
        after = bisect_left(began, span.sent.done_at)
        span.response_model = _handed_on(span, tree.spans[after : after + _NEXT])
    _complete_told(requests)


def _complete_told(requests: Sequence[NormalizedSpan]) -> None:
    """Name the models of calls that have no spans of their own, in place: a model that answers under the very name by which
    it is asked for always does, unlike a name that stands for versions."""
    answered: dict[str, set[str]] = {}
    for span in requests:
        if span.request_model and span.response_model:
            answered.setdefault(span.request_model, set()).add(span.response_model)
    for span in requests:
        name = span.request_model
        if (
            span.is_told
            and span.response_model is None
            and span.output
            and answered.get(name or "") == {name}
        ):
            span.response_model = name


def _handed_on(call: NormalizedSpan, following: Sequence[NormalizedSpan]) -> str | None:
    """Return the model in the response that a step after a call holds: it has the same answer, and no other count; or it is
    the end of a stream, which has none, and the answer stands beside it."""
    said = _said(call.output[-1])
    for step in following if said else ():
        if step.operation in ("inference", "tool"):
            continue
        for text in step.sent.attributes.values():
            if not (isinstance(text, str) and "model" in text and "usage" in text):
                continue
            for response, beside in _responses(read_value(text)):
                used, answer = parse_usage(response), beside or parse_answer(response)
                counts = (used.input, used.output)
                is_same = answer and _said(answer[-1]) == said
                if used.model and is_same and counts == (call.tokens.input, call.tokens.output):
                    return used.model
    return None


def _responses(value: object) -> Iterator[tuple[dict[str, object], list[Message]]]:
    """Yield the responses in a value, also where Python printed what holds them: objects with counts of their own, and ends
    of streams with the message beside them."""
    waiting = [(value, _DEPTH)]
    for _ in range(_MOST):
        if not waiting:
            return
        at, depth = waiting.pop()
        if isinstance(at, str) and "usage" in at and depth:
            read = read_value(at)
            waiting.append((read_repr(at) if isinstance(read, str) else read, depth - 1))
        elif isinstance(at, dict):
            if any(key.startswith("usage") and isinstance(at[key], dict) for key in at):
                yield at, []
            ends = [end for end in at.values() if isinstance(end, dict) and end.get("object") in _CHUNKS]
            if len(ends) == 1 and (beside := _messages_in(at)):
                yield ends[0], beside
            waiting += ((inner, depth - 1) for inner in at.values() if depth)
        elif isinstance(at, list) and depth:
            waiting += ((inner, depth - 1) for inner in at)


def _messages_in(holder: dict[str, object]) -> list[Message]:
    """Return the only message among the members of an object; [] where there are several, or none."""
    told = [value for value in holder.values() if isinstance(value, dict) and "role" in value]
    message = read_message(told[0], "assistant") if len(told) == 1 else None
    return [message] if message is not None else []


def _told_by(span: NormalizedSpan | None) -> Iterator[object]:
    """Yield the values of a span of unknown kind in which a response may be told."""
    for value in span.sent.attributes.values() if span is not None else ():
        if isinstance(value, str) and "response_metadata" in value:
            yield read_value(value)


def _models_in(values: Iterable[object]) -> dict[tuple[object, ...], str]:
    """Return the models that messages in some values name, by what tells each answer from others."""
    models: dict[tuple[object, ...], str] = {}
    for value in values:
        for each in _objects(value):
            model = parse_usage(each).model
            message = read_message(each, "assistant") if model is not None else None
            if model is not None and message is not None and (said := _said(message)):
                models.setdefault(said, model)
    return models


def _objects(value: object) -> Iterator[dict[str, object]]:
    """Yield the messages of an assistant in a value, also where Python printed what holds them: objects with metadata of a
    response."""
    waiting = [(value, _DEPTH)]
    for _ in range(_MOST):
        if not waiting:
            return
        at, depth = waiting.pop()
        if isinstance(at, dict):
            if "response_metadata" in at:
                yield at
            elif depth:
                waiting += ((inner, depth - 1) for inner in at.values())
        elif isinstance(at, list) and depth:
            waiting += ((inner, depth - 1) for inner in at)
        elif isinstance(at, str) and "response_metadata" in at and depth:
            read = read_repr(at)
            waiting.append((read if isinstance(read, dict | list) else read_fields(at), depth - 1))


def _said(message: Message) -> tuple[object, ...]:
    """Return what tells an answer from others: the ids of its calls, else its text."""
    return tuple(part["id"] for part in parts_of(message, "tool_call") if "id" in part) or tuple(
        filter(None, [text_of(message)])
    )
