"""Results of calls that were made together, which an instrumentation tells as one text: split by what the tools returned.

A prompt repeats an answer that asked for several tools, and of their results it tells one, a text that is just what all of
them returned, one after the other in the order of the calls, as their spans say. Anything more or less in it, and it stays.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from retrospan.ingest.interpret.calls.calls import ModelCall, messages_once
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.normalize.toolspan import unquoted
from retrospan.ingest.interpret.prompts.left_out_calls import result_of
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.json_text import write_json

_DECODER = json.JSONDecoder()


def split_joined_results(calls: Sequence[ModelCall], tree: Tree) -> None:
    """Give prompts a message for each result where they tell several as one text, in place."""
    together: dict[str, list[Part]] = {}
    for call in calls:
        for message in call.span.output:
            asked = parts_of(message, "tool_call")
            if len(asked) > 1:
                together.update((part["id"], asked) for part in asked if "id" in part)
    if not together:
        return
    returned = {
        span.tool_call_id: span.result
        for span in tree.spans
        if span.operation == "tool" and span.tool_call_id and span.has_result and not span.failed
    }
    split = {
        id(message): results
        for _, message in messages_once(calls)
        if message["role"] == "tool" and (results := _split(message, together, returned)) is not None
    }
    for call in calls if split else ():
        whole: list[Message] = []
        for place, message in enumerate(call.input):
            results = split.get(id(message))
            whole += results if results is not None and _is_alone(call.input, place) else [message]
        if len(whole) > len(call.input):
            call.input, call.history = whole, "rebuilt" if call.history == "full" else call.history


def _is_alone(prompt: Sequence[Message], place: int) -> bool:
    """Tell whether a result stands right after the answer that asked for several, and no other result follows it."""
    before, after = prompt[max(place - 1, 0)], prompt[place + 1 : place + 2]
    return len(parts_of(before, "tool_call")) > 1 and not any(
        parts_of(message, "tool_call_response") for message in after
    )


def _split(
    joined: Message, together: dict[str, list[Part]], returned: dict[str, object]
) -> list[Message] | None:
    """Return the results that a message tells as one text; None where it does not."""
    said = parts_of(joined, "tool_call_response")
    if len(said) != 1 or len(joined["parts"]) != 1:
        return None
    text, asked = said[0].get("response"), together.get(said[0].get("id", ""), ())
    if not isinstance(text, str) or not asked or not all(part.get("id", "") in returned for part in asked):
        return None
    results: list[Message] = []
    for part in asked:
        found = _begin(text.lstrip(), returned[part.get("id", "")])
        if found is None:
            return None
        result, text = found
        results.append({**joined, "parts": [result_of(part, result)]})
    return None if text.strip() else results


def _begin(text: str, result: object) -> tuple[object, str] | None:
    """Return a result that a text begins with, as it is or as JSON, and what stands after it; None where it does not."""
    for plain in (result, unquoted(result)):
        if isinstance(plain, str) and plain and text.startswith(plain):
            return plain, text[len(plain) :]
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        return None
    return (result, text[end:]) if write_json(value) == write_json(result) else None
