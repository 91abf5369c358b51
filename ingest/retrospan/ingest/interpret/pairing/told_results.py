"""What tools returned, as events and log records say that name the id of a call, or what the agent keeps of all that was
said: where no span executed it, and no prompt tells its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.messages.messages import read_messages
from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.interpret.normalize.acts_in_records import has_failed, returned_in
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.span import Attributes
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.kept_transcripts import kept_lists
from retrospan.ingest.json_text import write_json

#: How the name of an attribute ends that holds the id of a call, and of what it holds for itself.
_ID = re.compile(r"(?:^|[._]|[a-z])(?:id|Id|ID)\Z")
_CONTENT = re.compile(r"(?:^|[._])(?:content|value|text|body|data|message)\Z")
#: How events are called that tell what came of a call, and not that it was made.
_OF_RESULTS = re.compile(
    r"(?i)result|response|output|return|finish|complete|done|end(?:ed)?\b|success|fail|error"
)


def results_beside(
    models: Sequence[ModelCall], tree: Tree, known: Mapping[str, Part]
) -> Iterator[tuple[str, Part]]:
    """Yield the ids of calls whose results events, log records or transcripts tell, each with the part that a prompt would
    hold."""
    asked = {
        call_id
        for call in models
        for message in call.span.output
        for part in parts_of(message, "tool_call")
        if (call_id := part.get("id"))
    }
    waiting = asked - known.keys() - {span.tool_call_id for span in tree.spans if span.operation == "tool"}
    if not waiting:
        return
    found: dict[str, dict[str, Part]] = {}
    for span in tree.spans:
        for name, said in _beside(span) if span.sent.events or span.sent.logs else ():
            ids = {
                value
                for key, value in said.items()
                if isinstance(value, str) and value in asked and _ID.search(key)
            }
            call_id = ids.pop() if len(ids) == 1 else ""
            part = _part(call_id, name, said) if call_id in waiting else None
            if part is not None:
                found.setdefault(call_id, {})[write_json(part)] = part
    kept = _in_transcripts(tree, waiting - found.keys()) if waiting - found.keys() else ()
    for call_id, part in kept:
        found.setdefault(call_id, {})[write_json(part.get("response"))] = part
    # Two that do not say the same leave it open.
    yield from ((call_id, next(iter(told.values()))) for call_id, told in found.items() if len(told) == 1)


def _in_transcripts(tree: Tree, waiting: AbstractSet[str]) -> Iterator[tuple[str, Part]]:
    """Yield the results of calls in transcripts that agents keep, or responses, each after the call itself."""
    for span in tree.spans:
        yield from _in_rounds(span.retold, waiting)
        if span.operation not in ("agent", "workflow"):
            continue
        for listed in kept_lists(span):
            asked: set[str] = set()
            for part in (part for kept in listed for said in read_messages(kept) for part in said["parts"]):
                call_id = part.get("id", "")
                if part["type"] == "tool_call":
                    asked.add(call_id)
                elif part["type"] == "tool_call_response" and call_id in asked and call_id in waiting:
                    yield call_id, part


def _in_rounds(said: Sequence[Message], waiting: AbstractSet[str]) -> Iterator[tuple[str, Part]]:
    """Yield the results of the calls of the last answer that a response retells, where it is retold with them: by their ids,
    else in their order."""
    if len(said) < 2:
        return
    calls, results = parts_of(said[-2], "tool_call"), parts_of(said[-1], "tool_call_response")
    for call, part in zip(calls, results, strict=False):
        call_id = part.get("id") or (call.get("id", "") if len(calls) == len(results) else "")
        if call_id in waiting:
            yield call_id, part


def _beside(span: NormalizedSpan) -> Iterator[tuple[str, Attributes]]:
    yield from ((event.name, event.attributes) for event in span.sent.events)
    for record in span.sent.logs:
        inside = record.body if isinstance(record.body, dict) else {}
        yield record.event, {**inside, **record.attributes}


def _part(call_id: str, name: str, said: Attributes) -> Part | None:
    value = returned_in(said)
    if value is None and _OF_RESULTS.search(name):
        contents = [
            held for key, held in said.items() if _CONTENT.search(key) and held not in (None, "", call_id)
        ]
        value = contents[0] if len(contents) == 1 and isinstance(contents[0], (str, dict, list)) else None
    if value is None:
        return None
    part: Part = {"type": "tool_call_response", "id": call_id, "response": response_of(value)}
    if has_failed(said):
        part["is_error"] = True
    return part
