"""Results of calls that were made together, which an instrumentation tells as one text: split by what the tools returned.

A prompt repeats an answer that asked for several tools, and of their results it tells one, a text that is just what all of
them returned, one after the other in the order of the calls, as their spans say. Anything more or less in it, and it stays.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from retrospan.ingest.interpret.assembly.calls import ModelCall
from retrospan.ingest.interpret.assembly.left_out_calls import result_of
from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.message import Message, Part, parts_of
from retrospan.ingest.interpret.normalize.toolspan import unquoted
from retrospan.ingest.json_text import write_json

_DECODER = json.JSONDecoder()


def split_joined_results(calls: Sequence[ModelCall], tree: Tree) -> None:
    """Give prompts a message for each result where they tell several as one text, in place."""
    if not any(_calls(message) for call in calls for message in call.span.output):
        return
    returned = {
        span.tool_call_id: span.result
        for span in tree.spans
        if span.operation == "tool" and span.tool_call_id and span.has_result and not span.failed
    }
    split: dict[int, list[Message] | None] = {}
    for call in calls if returned else ():
        places = [place for place, message in enumerate(call.input[:-1]) if _calls(message)]
        for place in reversed(places):
            joined = call.input[place + 1]
            if id(joined) not in split:
                after = call.input[place + 2 : place + 3]
                split[id(joined)] = _split(_calls(call.input[place]), joined, after, returned)
            results = split[id(joined)]
            if results is not None:
                call.input = [*call.input[: place + 1], *results, *call.input[place + 2 :]]
                call.history = "rebuilt" if call.history == "full" else call.history


def _calls(message: Message) -> list[Part]:
    """Return the calls of a message that asks for several."""
    calls = parts_of(message, "tool_call")
    return calls if len(calls) > 1 else []


def _split(
    asked: Sequence[Part], joined: Message, after: Sequence[Message], returned: dict[str, object]
) -> list[Message] | None:
    """Return the results that a message tells as one text; None where it does not, or another result follows."""
    ids = [part.get("id") for part in asked]
    said = parts_of(joined, "tool_call_response")
    if len(said) != 1 or len(joined["parts"]) != 1 or not all(each in returned for each in ids):
        return None
    text = said[0].get("response")
    if not isinstance(text, str) or said[0].get("id") not in ids:
        return None
    if any(parts_of(message, "tool_call_response") for message in after):
        return None
    results: list[Message] = []
    for part in asked:
        found = _begin(text.lstrip(), returned[part["id"]])
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
