"""A model call whose content stands on the step right around it: what that was given is the prompt, what it returned the answer.

Only where the step holds this one call and nothing else that answers, and where the call itself does not say it: it says
no prompt, or no answer, or ended for calls that it does not hold; or its prompt tells results without the ids of their
calls, and the step was given just that prompt with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from retrospan.ingest.interpret.messages.completion import agree, is_fuller
from retrospan.ingest.interpret.messages.finish_reasons import FOR_TOOLS
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer, parse_request
from retrospan.ingest.interpret.messages.response_usage import parse_usage
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.exchange import asks
from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.interpret.tree.tree import Tree

_STEPS = ("step", "other")
#: Calls as Python prints them, after the text of an answer.
_CALLS_PRINTED = re.compile(r"(?:\A|\n)[Tt]ool[ _][Cc]alls: *(\[\{'.*\}\])\Z", re.DOTALL)


def complete_from_steps(tree: Tree) -> None:
    """Complete model calls from the steps around them, in place."""
    calls = [span for span in tree.spans if span.operation == "inference" and not span.is_told]
    lacking = [span for span in calls if not span.input or _lacks_answer(span) or _lacks_ids(span.input)]
    if not lacking:
        return
    inside: dict[NormalizedSpan, int] = {}
    for span in calls:
        parent = tree.parent(span)
        if parent is not None:
            inside[parent] = inside.get(parent, 0) + 1
    for span in lacking:
        step = tree.parent(span)
        if step is not None and step.operation in _STEPS and inside[step] == 1:
            _complete(span, step)


def _lacks_answer(span: NormalizedSpan) -> bool:
    if span.failed:
        return False
    reasons = span.finish_reasons
    return not span.output or (
        not _calls(span.output) and (not reasons or any(FOR_TOOLS.search(reason) for reason in reasons))
    )


def _lacks_ids(prompt: Sequence[Message]) -> bool:
    """Tell whether the first result in a prompt does not say which call it is of."""
    for message in prompt:
        if message["role"] == "tool":
            return bool(message["parts"]) and "id" not in message["parts"][0]
    return False


def _complete(span: NormalizedSpan, step: NormalizedSpan) -> None:
    fields = step.fields
    if not span.input:
        given = parse_request(fields.request or step.framework_input).messages
        if any(message["role"] == "user" for message in given):
            system: list[Part] = []
            while given and given[0]["role"] == "system":
                system, given = [*system, *given[0]["parts"]], given[1:]
            span.input, span.system = given, span.system or system
    elif _lacks_ids(span.input):
        given = parse_request(fields.request or step.framework_input).messages
        given = [message for message in given if message["role"] != "system"]
        if not _lacks_ids(given) and len(given) <= 2 * len(span.input) and is_fuller(given, span.input):
            span.input = given
    if _lacks_answer(span):
        returned = fields.response or step.framework_output
        answer = [] if returned is None or asks(returned) else parse_answer(returned)
        is_answer = bool(answer) and all(message["role"] == "assistant" for message in answer)
        if is_answer and (_calls(answer) or not span.output) and _tells(answer, span.output):
            span.output = answer
            if span.response_model is None:
                span.response_model = parse_usage(returned).model


def _tells(answer: list[Message], said: list[Message]) -> bool:
    """Tell whether an answer says all that is known of it; the call may have its calls printed after its text."""
    text = _text(said)
    return (
        agree(answer, said)
        or text in ("", _text(answer))
        or _without_printed_calls(text, answer) == _text(answer)
    )


def _without_printed_calls(text: str, answer: list[Message]) -> str | None:
    """Return a text without the list of an answer's own calls that a program printed at its end; None where there is none."""
    printed = _CALLS_PRINTED.search(text)
    listed = read_repr(printed[1]) if printed is not None else None
    if printed is None or not isinstance(listed, list):
        return None
    ids = [call.get("id") for call in listed if isinstance(call, dict)]
    asked = [call.get("id") for call in _calls(answer)]
    return text[: printed.start()].strip() if ids == asked and None not in ids else None


def _text(messages: Iterable[Message]) -> str:
    return "".join(map(text_of, messages)).strip()


def _calls(messages: Iterable[Message]) -> list[Part]:
    return [part for message in messages for part in parts_of(message, "tool_call")]
