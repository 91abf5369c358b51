"""Invariants of prompts: results have calls, answers are retold as they were read, and text is not an object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from retrospan.ingest.interpret.assembly.assembled_run import AROUND, AssembledRun, Prompt
from retrospan.ingest.interpret.assembly.calls import ModelCall
from retrospan.ingest.interpret.normalize.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.json_text import read_value, write_json
from retrospan.schemas.hashing import canonical_json

_INPUT, _OUTPUT = "input_messages", "output_messages"
#: One answer may be repeated in so many messages.
_MESSAGES = 50
#: So many tries of one request are looked at.
_TRIES = 100

#: How Python prints the object of a message; an object without a form of its own.
_OBJECT = re.compile(
    r"[A-Z]\w*\(_?(?:role|content|contents|id|messages?|parts|text|tool_calls)=.*\)\Z"
    r"|<[A-Za-z_][\w.]* object at 0x[0-9a-fA-F]+>\Z",
    re.DOTALL,
)
#: How it prints messages that are mappings. People paste such things and tools return them: only a model does not.
_MAPPINGS = re.compile(r"\[?\{'(?:role|tool_calls|function_call)': .*\}\]?\Z", re.DOTALL)


def orphaned_results(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield results in prompts that have no call: none was asked for before, and none stands before it.

    A result without id needs as many calls before it in its prompt as there are results. Where models ask for tools in
    words of their own, or where the API keeps what came before, there is nothing to compare.
    """
    asked: set[str] = set()
    counts: dict[int, tuple[int, int]] = {}
    for prompt in run.prompts:
        call = prompt.call
        calls, results = counts.get(prompt.after.ordinal, (0, 0)) if prompt.after else (0, 0)
        orphans: list[tuple[str, str]] = []
        for message in prompt.new:
            told = parts_of(message, "tool_call_response")
            requests = parts_of(message, "tool_call")
            calls, results = calls + len(requests), results + len(told)
            asked.update(part["id"] for part in requests if "id" in part)
            if message["role"] == "tool" and not told and run.asks:
                orphans.append((write_json(message), "a message of a tool in which no result is read"))
            for part in told:
                if "id" not in part and results > calls and run.asks:
                    orphans.append(
                        (write_json(part), "a result without id, and fewer calls before it than results")
                    )
                elif "id" in part and part["id"] not in asked and not _leans_on_api(call):
                    orphans.append((part["id"], "the result of a call that no answer before it asked for"))
        for raw, reason in orphans[:1]:
            yield issue(call.span.sent.span_id, _INPUT, raw, reason)
        counts[call.ordinal] = calls, results
        asked.update(
            part["id"]
            for message in call.span.output
            for part in parts_of(message, "tool_call")
            if "id" in part
        )


def results_without_call(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield results told around the model calls that have no id, where all calls have one."""
    asked = [tool.asked for tool in run.calls.tools if tool.asked is not None]
    if not asked or not all(call.call_id for call in asked):
        return
    for span in run.tree.spans:
        for message in (*span.input, *span.output) if span.operation != "inference" else ():
            for part in parts_of(message, "tool_call_response"):
                if "id" not in part:
                    reason = "read as a result, and it names no call as all others do"
                    yield issue(span.sent.span_id, "result", write_json(part), reason)


def _leans_on_api(call: ModelCall) -> bool:
    return call.span.stores_history or call.span.previous_response_id is not None


def results_from_elsewhere(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the results with which a run begins, unless there is an agent around that was given them."""
    first = run.prompts[0].call if run.prompts else None
    last = first.input[-1:] if first else []
    if not first or not last or not parts_of(last[0], "tool_call_response"):
        return
    if first.span not in run.tree.nearest(lambda span: span.operation in AROUND):
        reason = "the first prompt ends with the result of a call that is not of this run: it may be part of another"
        yield issue(first.span.sent.span_id, _INPUT, write_json(last[0]), reason)


def answers_retold(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield answers that the prompt which goes on from them repeats with other calls or another text.

    A repetition may leave out what it likes: only what it adds contradicts.
    """
    given: dict[int, list[ModelCall]] = {}
    for call in run.calls.models:
        given.setdefault(len(call.input_values), []).append(call)
    for prompt in run.prompts:
        before = prompt.after
        if before is None or not before.span.output:
            continue
        told = _retelling(prompt, before)
        near = given[len(before.input_values)][:_TRIES]
        tries = (call for call in near if call.input_values == before.input_values)
        # Of several tries one goes on: it may be the answer of any.
        if told and not any(_agrees(told, call.span.output) for call in chain((before,), tries)):
            reason = (
                f"the prompt of model call {prompt.call.ordinal} repeats this answer, and not as it was read"
            )
            yield issue(before.span.sent.span_id, _OUTPUT, write_json(told), reason)


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


def printed_objects(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield texts that are no more than an object as Python prints it."""
    for prompt in run.prompts:
        span = prompt.call.span
        for field, messages in ((_INPUT, prompt.new), (_OUTPUT, span.output)):
            text = next((text for message in messages for text in _printed(message)), None)
            if text is not None:
                yield issue(span.sent.span_id, field, text, "a text that is a printed object")


def _printed(message: Message) -> Iterator[str]:
    for part in parts_of(message, "text"):
        text = part.get("content")
        if isinstance(text, str) and text[-1:] in (")", ">", "}", "]"):
            text = text.strip()
            if _OBJECT.match(text) or (message["role"] == "assistant" and _MAPPINGS.match(text)):
                yield text
