"""Calls that are told by the id of the item, and answered by that of the call: OpenAI's responses have both.

The id of a call is the one by which its result is told. Which result is whose is taken from what stands right after the
calls: the only one that is what the execution of a call returned, or the last one after the last call, if it is not what
another returned. Nothing is taken from the order of several.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.messages.message import Message, Part, parts_of, repeated
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import is_unique
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.interpret.normalize.toolspan import unquoted
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.qualified_calls import renamed
from retrospan.ingest.json_text import read_value

#: How items are called that are calls: of a function, of a tool that takes a text.
_ITEM = re.compile("(?:fc|ctc)_")


def take_answered_ids(tree: Tree) -> None:
    """Give calls the ids by which their results are told, in place: in prompts, in answers, and where they are executed."""
    once = _messages_once(tree)
    asked = _ids(once, "tool_call")
    items = {call_id for call_id in asked if _ITEM.match(call_id)}
    if not items:
        return
    answered = _ids(once, "tool_call_response")
    known = _known(tree, items - answered, {call_id for call_id in answered - asked if is_unique(call_id)})
    if not known:
        return
    # What prompts share of their messages they go on sharing.
    made = {id(message): renamed(message, known) for message in once}
    for span in tree.spans:
        span.tool_call_id = known.get(span.tool_call_id or "", span.tool_call_id)
        span.input = [made[id(message)] for message in span.input]
        span.output = [made[id(message)] for message in span.output]


def _messages_once(tree: Tree) -> list[Message]:
    """Return the messages of all prompts and answers, each once."""
    found: dict[int, Message] = {}
    before: list[Message] = []
    for span in tree.spans:
        new = span.input[repeated(before, span.input) :]
        before = span.input or before
        found.update((id(message), message) for message in (*new, *span.output))
    return [*found.values()]


def _ids(messages: Sequence[Message], kind: str) -> set[str]:
    return {
        call_id
        for message in messages
        for part in message["parts"]
        if part["type"] == kind and (call_id := part.get("id"))
    }


def _known(tree: Tree, items: set[str], answered: set[str]) -> dict[str, str]:
    """Return the ids by which results are told, by the ids of the items that are their calls; where two are told of one call,
    or one of two, neither."""
    if not items or not answered:
        return {}
    executed = [span for span in tree.spans if span.operation == "tool"]
    pairs = {
        (call.get("id", ""), result.get("id", ""))
        for calls, results in _turns(tree)
        for call, result in _matched(
            [part for part in calls if part.get("id") in items],
            [part for part in results if part.get("id") in answered],
            executed,
        )
    }
    times = Counter(each for pair in pairs for each in pair)
    return {call_id: plain for call_id, plain in pairs if times[call_id] == times[plain] == 1}


def _turns(tree: Tree) -> Iterator[tuple[list[Part], list[Part]]]:
    """Yield the calls that stand right before results in prompts, and these results."""
    before: list[Message] = []
    for span in tree.spans:
        start = repeated(before, span.input)
        before = span.input or before
        # From where the last calls begin that were repeated: their results may go on.
        while start and parts_of(span.input[start - 1], "tool_call_response"):
            start -= 1
        while start and span.input[start - 1]["role"] == "assistant":
            start -= 1
        calls: list[Part] = []
        results: list[Part] = []
        for message in span.input[start:]:
            said = parts_of(message, "tool_call_response")
            if results and not said:
                yield calls, results
                calls, results = [], []
            results += said
            if not said:
                calls = [*calls, *parts_of(message, "tool_call")] if message["role"] == "assistant" else []
        if results:
            yield calls, results


def _matched(
    calls: Sequence[Part], results: Sequence[Part], executed: Sequence[NormalizedSpan]
) -> Iterator[tuple[Part, Part]]:
    """Yield calls with their results: by what executions returned, and the last with the last."""
    if len(calls) != len(results):
        return
    left_calls, left_results = [*calls], [*results]
    returned = [[span for span in executed if _has_returned(span, result)] for result in results]
    fitting = [
        [place for place, spans in enumerate(returned) if any(_executes(span, call) for span in spans)]
        for call in calls
    ]
    for call, places in zip(calls, fitting, strict=True):
        # No other call may have returned the same.
        if len(places) == 1 and sum(places[0] in others for others in fitting) == 1:
            left_calls.remove(call)
            left_results.remove(results[places[0]])
            yield call, results[places[0]]
    # What nothing is known to have returned, as the error of a tool that failed.
    if len(left_calls) == 1 and not returned[results.index(left_results[0])]:
        yield left_calls[0], left_results[0]


def _executes(span: NormalizedSpan, call: Part) -> bool:
    return is_same_tool(span.tool_name or "", call.get("name", "")) and (
        not span.has_arguments or same_arguments(span.arguments, call.get("arguments"))
    )


def _has_returned(span: NormalizedSpan, result: Part) -> bool:
    said = result.get("response")
    return span.has_result and (
        said in (span.result, unquoted(span.result)) or read_value(said) == read_value(span.result)
    )
