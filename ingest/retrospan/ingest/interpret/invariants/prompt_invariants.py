"""Invariants of prompts: results have calls and calls have results, and text is not an object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.invariants.assembled_run import AROUND, AssembledRun
from retrospan.ingest.interpret.messages.message import Message, parts_of, text_of
from retrospan.ingest.interpret.prompts.bare_prompts import UNKNOWN
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue
from retrospan.ingest.json_text import write_json

_INPUT, _OUTPUT = "input_messages", "output_messages"

#: How Python prints the object of a message; an object without a form of its own.
_OBJECT = re.compile(
    r"[A-Z]\w*\(_?(?:role|content|contents|id|messages?|parts|text|tool_calls)=.*\)\Z"
    r"|<[A-Za-z_][\w.]* object at 0x[0-9a-fA-F]+>\Z",
    re.DOTALL,
)
#: How it prints messages that are mappings. People paste such things and tools return them: only a model does not.
_MAPPINGS = re.compile(r"\[?\{'(?:role|tool_calls|function_call)': .*\}\]?\Z", re.DOTALL)


def shuffled_results(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield prompts whose new results stand in another order than the calls of the answer before them, and are told alone:
    as they came in, and not as they were sent."""
    for prompt in run.prompts:
        if prompt.call.history != "rebuilt" or prompt.after is None:
            continue
        asked = [
            part.get("id") for message in prompt.after.span.output for part in parts_of(message, "tool_call")
        ]
        told = [part.get("id") for _, _, results in prompt.told for part in results]
        if None not in asked and told != asked and sorted(map(str, told)) == sorted(map(str, asked)):
            reason = "the results stand in another order than the calls that asked for them"
            yield issue(prompt.call.span.sent.span_id, _INPUT, write_json(told), reason)


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
        for message, requests, told in prompt.told:
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
        asked.update(part["id"] for part in prompt.asked if "id" in part)


def results_without_call(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield results told around the model calls that have no id, where all calls have one; but what a call returned."""
    asked = [tool.asked for tool in run.calls.tools if tool.asked is not None]
    if not asked or not all(call.call_id for call in asked):
        return
    for span in run.tree.spans:
        for message in (*span.input, *span.output) if span.operation != "inference" else ():
            for part in parts_of(message, "tool_call_response"):
                if "id" not in part and not any(
                    part.get("response") == tool.result for tool in run.calls.tools
                ):
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


def untold_results(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield calls that had been executed when a prompt repeated them without a result."""
    done = {
        tool.call_id: tool.span.sent.done_at
        for tool in run.calls.tools
        if tool.span is not None and tool.call_id and tool.status == "ok"
    }
    for prompt in run.prompts if done else ():
        asked: dict[str, None] = {}
        nameless = False
        for _, calls, results in prompt.told:
            asked.update((part["id"], None) for part in calls if "id" in part)
            for part in results:
                nameless = nameless or "id" not in part
                asked.pop(part.get("id", ""), None)
        began = prompt.call.span.sent.started_at
        untold = next((call_id for call_id in asked if call_id in done and done[call_id] <= began), None)
        if untold is not None and not nameless:
            reason = "a call that had been executed is repeated, and no result of it is told"
            yield issue(prompt.call.span.sent.span_id, _INPUT, untold, reason)


def unknown_speakers(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the first message of a prompt of which it is not known who said it."""
    for prompt in run.prompts:
        for message in prompt.new:
            if message["role"] == UNKNOWN:
                reason = "it is not known who said this: its instrumentation does not tell"
                yield issue(prompt.call.span.sent.span_id, _INPUT, write_json(message), reason)
                break


def bare_prompts(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield the first prompt of a run that is one text of several lines, of which no attribute says who spoke, where nothing
    else tells instructions: these may be its first lines."""
    first = run.prompts[0].call.span if run.prompts else None
    if first is None or first.system or len(first.input) != 1 or first.input[0]["role"] != "user":
        return
    text = text_of(first.input[0])
    if "\n" in text.strip() and any(value == text for value in first.sent.attributes.values()):
        reason = "all that the model was given is one text of several lines: who said which is not told"
        yield issue(first.sent.span_id, "input", text, reason)


def answers_in_prompts(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield prompts that end with their own answer, word by word: they may have been written down after it. Not those that
    go on from a call with the same answer: it is that one's."""
    for prompt in run.prompts:
        last = prompt.call.input[-1] if prompt.call.input else None
        if last is None or last["role"] != "assistant":
            continue
        span = prompt.call.span
        said = "\n".join(map(text_of, span.output))
        before = "\n".join(map(text_of, prompt.after.span.output)) if prompt.after is not None else ""
        if said and said != before and text_of(last) == said:
            reason = "a prompt ends with its own answer: it may have been written down after it"
            yield issue(span.sent.span_id, _INPUT, said, reason)


def printed_objects(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield texts that are no more than an object as Python prints it."""
    for prompt in run.prompts:
        span = prompt.call.span
        for field, messages in ((_INPUT, prompt.new), (_OUTPUT, span.output)):
            text = _printed(messages)
            if text is not None:
                yield issue(span.sent.span_id, field, text, "a text that is a printed object")


def _printed(messages: Sequence[Message]) -> str | None:
    """Return the first text of messages that is no more than a printed object."""
    for message in messages:
        for part in message["parts"]:
            text = part.get("content") if part["type"] == "text" else None
            if isinstance(text, str) and text[-1:] in (")", ">", "}", "]"):
                text = text.strip()
                if _OBJECT.match(text) or (message["role"] == "assistant" and _MAPPINGS.match(text)):
                    return text
    return None
