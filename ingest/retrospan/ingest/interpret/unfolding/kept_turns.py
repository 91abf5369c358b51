"""A turn of an assistant as a program keeps it for its user's screen: one message of texts, calls and what each returned.

The AI SDK of Vercel has this form: a part for each call, with its id and its output. It tells the texts that stood before
calls, and results as a model was told them, where the spans of the requests do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from retrospan.ingest.interpret.messages.message import Part
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.exchange import plain_value
from retrospan.ingest.json_text import read_value

#: Under which name a call's id stands in such a part.
_CALL_ID = "toolCallId"
#: How deep in the value of an attribute a message is looked for.
_DEPTH = 3


@dataclass(slots=True)
class KeptTurn:
    """What a kept message tells of some calls: the texts right before each, and what each returned."""

    texts: dict[str, list[Part]] = field(default_factory=dict)
    returned: dict[str, object] = field(default_factory=dict)


def kept_turns(spans: Iterable[NormalizedSpan]) -> Mapping[str, Sequence[KeptTurn]]:
    """Return the kept messages that spans hold in a value, by the id of each call that they tell."""
    found: dict[str, list[KeptTurn]] = {}
    for span in spans:
        for value in span.sent.attributes.values():
            if isinstance(value, str) and _CALL_ID in value:
                for message in _messages(read_value(value), _DEPTH):
                    turn = _told(message)
                    for call_id in turn.texts:
                        found.setdefault(call_id, []).append(turn)
    return found


def turn_of(turns: Mapping[str, Sequence[KeptTurn]], call_ids: Sequence[str]) -> KeptTurn | None:
    """Return the first turn that tells all of some calls; None where none does."""
    fitting = turns.get(call_ids[-1], ()) if call_ids else ()
    return next((turn for turn in fitting if all(call_id in turn.texts for call_id in call_ids)), None)


def _messages(value: object, depth: int) -> Iterator[Mapping[str, object]]:
    if isinstance(value, dict) and value.get("role") == "assistant":
        yield value
    elif depth:
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            if isinstance(inner, (dict, list)):
                yield from _messages(inner, depth - 1)


def _told(message: Mapping[str, object]) -> KeptTurn:
    parts = message.get("parts")
    turn, texts = KeptTurn(), list[Part]()
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict):
            continue
        call_id, text = part.get(_CALL_ID), part.get("text")
        if isinstance(call_id, str):
            turn.texts[call_id], texts = texts, []
            if "output" in part:
                turn.returned[call_id] = plain_value(part["output"])
        elif part.get("type") == "text" and isinstance(text, str) and text:
            texts.append({"type": "text", "content": text})
    return turn
