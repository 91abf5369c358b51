"""Identifiers of the question that a call was given otherwise: the answer then tells of another thing. Pure.

Only what is certain counts. The call is given an identifier that nothing before it had, of the form of one that the user
named and that no call of the run is given, with at most two other digits. One that only counts on from it, as the
next invoice does, is the agent's to make, and so is one between two that the user named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from retrospan.ingest.interpret.findings.facts import EXECUTED, RunFacts
from retrospan.ingest.interpret.findings.said_values import differing, identifiers, shape_of
from retrospan.ingest.interpret.findings.told import MOST_CHARACTERS, is_opaque
from retrospan.schemas.canonical import ModelCallRow, ToolCallRow

#: Digits in which the wrong identifier may differ from the right one.
MOST_DIGITS = 2
#: So much more or less is counting on.
_COUNTED_ON = 3
#: (as the user has it, as the call has it, the call)
Misgiven = tuple[str, str, ToolCallRow]


def misgiven_identifiers(facts: RunFacts) -> Iterator[Misgiven]:
    """Yield each such identifier once, at the first call that is given it."""
    asked = {match[0].casefold(): match[0] for match in identifiers(facts.run.input or "")}
    if not asked or any(call.history == "none" for call in facts.model_calls):
        return
    executed = [call for call in facts.tool_calls if call.status in EXECUTED]
    given = [(call, [match[0] for match in identifiers(call.arguments or "")]) for call in executed]
    used = {each.casefold() for _, ids in given for each in ids}
    seen = set(asked)
    for call, ids in given:
        for wrong in (each for each in ids if each.casefold() not in seen):
            seen.add(wrong.casefold())
            near = [right for right in asked if right not in used and _is_near(right, wrong.casefold())]
            if _is_between(wrong.casefold(), asked):
                continue
            if len(near) == 1 and _is_unheard(facts, call, wrong.casefold()):
                yield asked[near[0]], wrong, call


def _is_near(right: str, wrong: str) -> bool:
    """Return whether one identifier may be the other written wrongly."""
    if shape_of(right) != shape_of(wrong) or not 0 < differing(right, wrong) <= MOST_DIGITS:
        return False
    numbers = [[*map(int, re.findall(r"\d+", each))] for each in (right, wrong)]
    apart = [abs(a - b) for a, b in zip(*numbers, strict=True) if a != b]
    return len(apart) == 1 and apart[0] > _COUNTED_ON


def _is_between(given: str, asked: Iterable[str]) -> bool:
    """Return whether an identifier lies between two that were asked for, as in `INV-0998 to INV-1010`."""
    own = _stem_and_number(given)
    if own is None:
        return False
    named = [each for each in map(_stem_and_number, asked) if each is not None and each[0] == own[0]]
    numbers = [number for _, number in named]
    return len(numbers) > 1 and min(numbers) < own[1] < max(numbers)


def _stem_and_number(identifier: str) -> tuple[str, int] | None:
    """Return an identifier without the number that it ends with, and the number."""
    found = re.fullmatch(r"(.*?)(\d+)", identifier)
    return None if found is None else (found[1], int(found[2]))


def _is_unheard(facts: RunFacts, call: ToolCallRow, wrong: str) -> bool:
    """Return whether all that was known before a call is on record, and has not this identifier."""
    asking = next((each for each in facts.model_calls if each.ordinal == call.asked_by), None)
    if asking is None:
        return False
    texts = [*_given(facts, asking)]
    texts += [
        text
        for other in facts.tool_calls
        if other.ordinal < call.ordinal
        for text in (other.arguments, other.result, other.error_message)
        if text
    ]
    texts += [step.query for step in facts.steps if step.query]
    if sum(map(len, texts)) > MOST_CHARACTERS or any(map(is_opaque, texts)):
        return False
    return not any(wrong in text.casefold() for text in texts)


def _given(facts: RunFacts, asking: ModelCallRow) -> Iterator[str]:
    """Yield what a model was given, and the states in which the run was until then."""
    waiting = [*asking.input_values, asking.system_value, asking.tools_value]
    for step in facts.steps:
        if step.step <= asking.step:
            waiting += step.before_values
    values, seen = {value.number: value for value in facts.values}, set[int]()
    while waiting:
        number = waiting.pop()
        value = values.get(number)
        if value is None or number in seen:
            continue
        seen.add(number)
        waiting += value.elements
        if value.json:
            yield value.json
