"""Alternating pairs: two calls by turns, each with equal arguments and the same result every time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.findings.facts import RunFacts
from retrospan.ingest.interpret.findings.finding import Finding, chosen, quoted
from retrospan.ingest.interpret.findings.outcomes import (
    LEAST,
    LEAST_ACKNOWLEDGED,
    acknowledges,
    outcome_of,
    same_call,
    what_came,
)
from retrospan.schemas.canonical import ToolCallRow

RULE = "alternation"


def alternations(facts: RunFacts) -> Iterator[Finding]:
    """Yield a finding for each pair that alternates at least three times.

    A pause and a question by turns are waiting: none where the answer changes in the end.
    """
    for calls in facts.by_invocation:
        begin, place = 0, 2
        while place <= len(calls):
            if place < len(calls) and _repeats(calls[place - 2], calls[place]):
                place += 1
                continue
            row = calls[begin:place]
            if _is_alternation(row, calls[place:]):
                yield _finding(facts, row)
            begin, place = place - 1, place + 1


def _repeats(before: ToolCallRow, call: ToolCallRow) -> bool:
    outcome = outcome_of(call)
    return same_call(before, call) and outcome is not None and outcome == outcome_of(before)


def _is_alternation(row: Sequence[ToolCallRow], later: Sequence[ToolCallRow]) -> bool:
    if len(row) < 2 * LEAST or same_call(row[0], row[1]):
        return False
    if acknowledges(row[0]) and acknowledges(row[1]) and len(row) < 2 * LEAST_ACKNOWLEDGED:
        return False
    return not any(
        same_call(one, call) and outcome_of(call) != outcome_of(one) for call in later for one in row[:2]
    )


def _finding(facts: RunFacts, row: Sequence[ToolCallRow]) -> Finding:
    one, other = row[0], row[1]
    returned = max(what_came(row[::2]), what_came(row[1::2]), key=len)
    return Finding(
        rule=RULE,
        severity=facts.graver(),
        step=facts.step_of(one),
        explanation=(
            f"{quoted(one.tool_name)} {quoted(one.arguments)} and {quoted(other.tool_name)} {quoted(other.arguments)} were "
            f"called by turns, {len(row):,} calls in a row, and each returned {returned} every time."
        ),
        evidence=chosen(facts.references(row)),
        at=facts.time_of(row[-1]),
        agent_name=one.agent_name,
        tool_name=one.tool_name,
        ordinals=tuple(call.ordinal for call in row),
    )
