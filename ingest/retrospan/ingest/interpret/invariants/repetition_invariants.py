"""Invariants of repetitions: prompts repeat the answers of this run, and repeat them as they were read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.invariants.assembled_run import AssembledRun, Prompt
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.json_text import read_value, write_json
from retrospan.schemas.hashing import canonical_json

#: One answer may be repeated in so many messages.
_MESSAGES = 50
#: So many tries of one request are looked at.
_TRIES = 100


def answers_retold(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield answers that the prompt which goes on from them repeats with other calls or another text.

    A repetition may leave out what it likes: only what it adds contradicts.
    """
    given: dict[int, list[ModelCall]] = {}
    for prompt in run.prompts:
        before = prompt.after
        if before is None or not before.span.output:
            continue
        told = _retelling(prompt, before)
        if not told or _agrees(told, before.span.output):
            continue
        if not given:
            for call in run.calls.models:
                given.setdefault(len(call.input_values), []).append(call)
        near = given[len(before.input_values)][:_TRIES]
        # Of several tries one goes on: it may be the answer of any.
        if not any(
            _agrees(told, call.span.output) for call in near if call.input_values == before.input_values
        ):
            reason = (
                f"the prompt of model call {prompt.call.ordinal} repeats this answer, and not as it was read"
            )
            yield issue(before.span.sent.span_id, "output_messages", write_json(told), reason)


def _retelling(prompt: Prompt, before: ModelCall) -> list[Message]:
    """Return the messages of the assistant that stand where the answer is repeated."""
    told: list[Message] = []
    for message in prompt.new[:_MESSAGES]:
        if (
            message["role"] != "assistant"
            or message.get("name", before.span.agent_name) != before.span.agent_name
        ):
            break
        told.append(message)
    return told


def _agrees(told: Sequence[Message], answer: Sequence[Message]) -> bool:
    """Tell whether the messages, or the first of them, say nothing that the answer does not."""
    if told[: len(answer)] == answer:
        return True
    text, calls = _plain(answer), [part for message in answer for part in parts_of(message, "tool_call")]
    return any(_adds_nothing(told[:size], text, calls) for size in range(1, len(told) + 1))


def _adds_nothing(told: Sequence[Message], text: str, calls: Sequence[Part]) -> bool:
    again = [part for message in told for part in parts_of(message, "tool_call")]
    if not all(any(_is_same(part, call) for call in calls) for part in again):
        return False
    said = _plain(told)
    if not said or said in text:
        return True
    # Calls may be told as text, and objects with their keys in another order.
    return text in said if text else bool(calls) and not again


def _is_same(part: Part, call: Part) -> bool:
    given, asked = part.get("arguments"), call.get("arguments")
    return is_same_tool(part.get("name", ""), call.get("name", "")) and (
        not given or same_arguments(given, asked) or same_arguments(asked, given)
    )


def _plain(messages: Sequence[Message]) -> str:
    """Return the letters and digits of the messages' texts; an object's keys in the order of the alphabet."""
    text = "".join(text_of(message) for message in messages)
    value = read_value(text.strip())
    return re.sub(r"[\W_]+", "", text if isinstance(value, str) else canonical_json(value).decode())


def answers_from_elsewhere(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield calls that a prompt adds to what was known, after the last user, and that no answer of the run asked for.

    Where the answers leave out the ids of their calls there is nothing to compare.
    """
    asked = {tool.asked.call_id for tool in run.calls.tools if tool.asked is not None}
    for prompt in run.prompts if asked and None not in asked else ():
        ids: list[str] = []
        tells_calls = prompt.after is not None and any(told.calls for told in prompt.told)
        for message in prompt.new if tells_calls else ():
            if message["role"] == "user":
                ids.clear()
            ids += (part["id"] for part in parts_of(message, "tool_call") if "id" in part)
        foreign = next((call_id for call_id in ids if call_id not in asked), None)
        if foreign is not None:
            reason = "a call that no answer of this run asked for stands among its answers"
            yield issue(prompt.call.span.sent.span_id, "input_messages", foreign, reason)
