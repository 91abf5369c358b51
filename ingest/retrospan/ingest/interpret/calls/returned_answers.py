"""Answers of a run, and what the agents around its model calls say that they returned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.messages.message import Message, parts_of, text_of
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer
from retrospan.ingest.interpret.messages.tool_results import told_error
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree

#: Operations of spans around the acts of a run.
_AROUND = ("agent", "workflow")
#: Names of attributes that say that they hold what the whole work came to.
_FINAL = re.compile(r"(?:^|[._:])final_(?:result|output|answer|response)$")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run came to. `call` is the model call that said it, or that led to it."""

    call: int
    message: Message
    text: str


def text_in(messages: Sequence[Message], call: int) -> Answer | None:
    """Return the last message that has a text and asks for no tool."""
    for message in reversed(messages):
        text = text_of(message)
        if text and not parts_of(message, "tool_call"):
            return Answer(call, message, text)
    return None


def answer_of(span: NormalizedSpan, call: int) -> Answer | None:
    """Return the answer that an agent or a workflow says that it returned."""
    said = span.output or parse_answer(span.framework_output) or _final_result(span)
    return text_in([message for message in said if message["role"] == "assistant"], call)


def _final_result(span: NormalizedSpan) -> list[Message]:
    """Return what an attribute holds whose name says that it is the final result: it may be an object, as JSON."""
    for name, value in span.sent.attributes.items():
        if isinstance(value, str) and value and _FINAL.search(name):
            return [{"role": "assistant", "parts": [{"type": "text", "content": value}]}]
    return []


def returned_by_root(tree: Tree, last: ModelCall) -> Answer | None:
    """Return the answer that the first root which tells one returned, where the last call only led to it.

    A text that holds what that call asked for, by its id, is not one: it is handed on, or all that was said is told.
    """
    for root in tree.roots():
        if root.operation in _AROUND and not root.failed:
            answer = answer_of(root, last.ordinal)
            if answer is not None:
                return None if _holds_calls(answer.text, last) else answer
    return None


def _holds_calls(text: str, last: ModelCall) -> bool:
    """Tell whether a text quotes the id of a call that was asked for: programs may only count calls, and a number is in many
    texts."""
    asked = (part for message in last.span.output for part in parts_of(message, "tool_call"))
    ids = (call_id for part in asked if (call_id := part.get("id")))
    return any(re.search(rf"""["']{re.escape(call_id)}["'\\]""", text) for call_id in ids)


def said_before(tree: Tree, models: Sequence[ModelCall], last: Answer) -> tuple[ModelCall, Answer] | None:
    """Return the earlier answer which the outermost agent around the last call says that it returned, and the call that
    said it; None where it returned the last one, or something else.

    What a program asks a model after that, such as a title for the conversation, answers nobody.
    """
    around = [span for span in tree.ancestors(models[-1].span) if span.operation in _AROUND]
    outermost = around[-1] if around else None
    if outermost is None or outermost.failed:
        return None
    # An object may hold several texts, of which nobody says that one is the answer.
    returned = outermost.framework_output
    said = outermost.output or (parse_answer(returned) if isinstance(returned, str) else [])
    text = text_of(said[-1]) if said and said[-1]["role"] == "assistant" else ""
    if not text or text in last.text or last.text in text:
        return None
    for call in reversed(models[:-1]):
        answer = text_in(call.span.output, call.ordinal)
        if answer is not None and answer.text == text and tree.is_below(call.span, outermost):
            return call, answer
    return None


def returned_after_failure(tree: Tree, models: Sequence[ModelCall]) -> Answer | None:
    """Return the answer of a root that says that it ended well though the last call failed: what nobody had said before,
    and no error that was returned as a text."""
    last = models[-1]
    for root in tree.roots():
        if root.operation not in _AROUND or root.failed or root.sent.status != "ok":
            continue
        answer = answer_of(root, last.ordinal)
        if answer is not None and root.sent.done_at >= last.span.sent.done_at:
            return None if _is_error(answer.text, tree) or _is_known(answer.text, models) else answer
    return None


def _is_error(text: str, tree: Tree) -> bool:
    errors = {span.error_message.strip() for span in tree.spans if span.failed and span.error_message}
    return told_error(text) is not None or any(error in text or text in error for error in errors if error)


def _is_known(text: str, models: Sequence[ModelCall]) -> bool:
    """Tell whether a text was said before: in a prompt of the run, or by an answer that asked for more."""
    return any(text in text_of(each) for call in models for each in (*call.input, *call.span.output))
