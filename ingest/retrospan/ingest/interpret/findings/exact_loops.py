"""Exact loops: calls in a row with equal arguments that came to the same each time, and to nothing else later."""

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
    same_outcome,
    what_came,
)
from retrospan.schemas.canonical import ToolCallRow

RULE = "exact_loop"


def exact_loops(facts: RunFacts) -> Iterator[Finding]:
    """Yield a finding for each loop. Waiting for something that comes is none, nor is a retry that succeeds.

    Calls that all failed are `repeated_failures`. Where results differ or are not known, the calls are a loop only if the
    run failed in them.
    """
    for calls in facts.by_invocation:
        if len(calls) < LEAST:
            continue
        begin = 0
        for end in range(1, len(calls) + 1):
            if end < len(calls) and same_call(calls[end - 1], calls[end]):
                continue
            if _is_loop(facts, calls[begin:end], calls[end:]):
                yield _finding(facts, calls[begin:end])
            begin = end


def _is_loop(facts: RunFacts, row: Sequence[ToolCallRow], later: Sequence[ToolCallRow]) -> bool:
    if len(row) < LEAST or all(call.status == "error" for call in row):
        return False
    if not same_outcome(row):
        return facts.failed and not later
    if any(same_call(row[0], call) and outcome_of(call) != outcome_of(row[0]) for call in later):
        return False
    return facts.failed or len(row) >= (LEAST_ACKNOWLEDGED if acknowledges(row[0]) else LEAST)


def _finding(facts: RunFacts, row: Sequence[ToolCallRow]) -> Finding:
    first, last = row[0], row[-1]
    returned = (
        f", and every call returned {what_came(row)}: {quoted(first.result)}"
        if same_outcome(row)
        else ", until the run failed"
    )
    return Finding(
        rule=RULE,
        severity=facts.graver(),
        step=facts.step_of(first),
        explanation=(
            f"{quoted(first.tool_name)} was called {len(row):,} times in a row with equal arguments "
            f"{quoted(first.arguments)}{returned}."
        ),
        evidence=chosen(facts.references(row)),
        at=facts.time_of(last),
        agent_name=first.agent_name,
        tool_name=first.tool_name,
        ordinals=tuple(call.ordinal for call in row),
    )
