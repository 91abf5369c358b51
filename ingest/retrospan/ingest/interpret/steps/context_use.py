"""What left and what entered the context between two model calls, from the numbers of their messages.

A number stands for a comparison hash: the same message has the same number in every call of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.messages.message import Message, parts_of, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.key import whole_number
from retrospan.ingest.interpret.steps.values import Values
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.json_text import write_json
from retrospan.schemas.attributes import CONTEXT_LIMIT


@dataclass(slots=True)
class ContextUse:
    """One call's prompt against that of the call before it in its context, `goes_on` (0: there is none).

    `new` and `lost` are None where they are not known; `lost` holds numbers of messages.
    """

    limit: int | None
    goes_on: int = 0
    new: int | None = None
    lost: list[int] | None = None
    how: str | None = None  # dropped | summarised | truncated; None when nothing is known to be lost


def read_context_use(tree: Tree, calls: Sequence[ModelCall], values: Values) -> list[ContextUse]:
    """Return the use of the context by each call, in order.

    The call before in a context is the one of the same agent that was the latest to read or say the last known
    message of this prompt: agents of one name that work side by side are told apart by what they know.
    """
    held: dict[str | None, dict[int, int]] = {}
    limits = tree.nearest(lambda span: _limit(span) is not None)
    found: list[ContextUse] = []
    for call in calls:
        limit, above = _limit(call.span), limits.get(call.span)
        if limit is None and above is not None:
            limit = _limit(above)
        found.append(_use(limit, call, calls, held.setdefault(call.span.agent_name, {}), values))
    return found


def _limit(span: NormalizedSpan) -> int | None:
    return whole_number(span.sent.attributes.get(CONTEXT_LIMIT))


def _use(
    limit: int | None, call: ModelCall, calls: Sequence[ModelCall], held: dict[int, int], values: Values
) -> ContextUse:
    if not call.input_values:
        return ContextUse(limit)
    known = bool(held)
    goes_on = next((held[number] for number in reversed(call.input_values) if number in held), 0)
    held.update(dict.fromkeys((*call.input_values, *call.output_values), call.ordinal))
    if not goes_on:
        # Nothing in common with any call before: another context, or all of the old one is gone.
        return ContextUse(limit, 0, len(call.input_values), None if known else [])
    before = calls[goes_on - 1]
    if call.input_values[: len(before.input_values)] == before.input_values:
        return ContextUse(limit, goes_on, len(call.input_values) - len(before.input_values), [])
    lost = list((Counter(before.input_values) - Counter(call.input_values)).elements())
    new = len(call.input_values) - len(before.input_values) + len(lost)
    return ContextUse(limit, goes_on, new, lost, _how(before, call, values) if lost else None)


def _how(before: ModelCall, call: ModelCall, values: Values) -> str:
    """Return how messages were lost: by what stands in their place."""
    known = {*before.input_values, *before.output_values}
    messages = dict(
        zip((*before.input_values, *call.input_values), (*before.input, *call.input), strict=True)
    )
    if any(parts_of(messages[number], "compaction") for number in call.input_values if number not in known):
        return "summarised"
    if len(call.span.system) > len(before.span.system):
        return "summarised"
    gone = _between([*before.input_values, *before.output_values], {*call.input_values})
    put = _between(call.input_values, known)
    tail = _last_kept(call.input_values, known)
    for place, left in gone.items():
        instead = put.get(place, [])
        pairs = [(messages.get(old), messages[new]) for old, new in zip(left, instead, strict=False)]
        if any(old is not None and _is_cut(old, new) for old, new in pairs):
            return "truncated"
        fresh = [number for number in instead if values.all[number - 1].first_call == call.ordinal]
        if fresh and len(instead) <= len(left) and place != tail:
            return "summarised"
    return "dropped"


def _between(numbers: Sequence[int], kept: set[int]) -> dict[int, list[int]]:
    """Return the numbers that are not kept, by the kept one before them (0 for the beginning)."""
    found: dict[int, list[int]] = {}
    place = 0
    for number in numbers:
        if number in kept:
            place = number
        else:
            found.setdefault(place, []).append(number)
    return found


def _last_kept(numbers: Sequence[int], kept: set[int]) -> int:
    return next((number for number in reversed(numbers) if number in kept), 0)


def _is_cut(old: Message, new: Message) -> bool:
    """Tell whether a message is an older one with less in it: a shorter answer to the same call, or the beginning of its text."""
    if old["role"] != new["role"]:
        return False
    answers = {
        part.get("id"): write_json(part.get("response")) for part in parts_of(old, "tool_call_response")
    }
    for part in parts_of(new, "tool_call_response"):
        whole = answers.get(part.get("id"))
        if whole is not None and len(write_json(part.get("response"))) < len(whole):
            return True
    text, cut = text_of(old), text_of(new)
    return 0 < len(cut) < len(text) and text.startswith(cut[: (len(cut) + 1) // 2])
