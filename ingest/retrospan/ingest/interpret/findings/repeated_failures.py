"""Repeated failures: a tool that failed three times and more, and never succeeded after that."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.interpret.findings.facts import RunFacts
from retrospan.ingest.interpret.findings.finding import Finding, chosen, quoted
from retrospan.ingest.interpret.findings.outcomes import LEAST
from retrospan.schemas.canonical import ToolCallRow

RULE = "repeated_failures"


def repeated_failures(facts: RunFacts) -> Iterator[Finding]:
    """Yield a finding for each tool of an agent whose last calls all failed. A retry that succeeds ends the matter."""
    for calls in facts.by_agent:
        by_tool: dict[str, list[ToolCallRow]] = {}
        for call in calls:
            failing = by_tool.setdefault(call.tool_name, [])
            if call.status == "error":
                failing.append(call)
            else:
                failing.clear()
        for failing in by_tool.values():
            if len(failing) >= LEAST:
                yield _finding(facts, failing)


def _finding(facts: RunFacts, failing: list[ToolCallRow]) -> Finding:
    first, last = failing[0], failing[-1]
    error = ": ".join(filter(None, (last.error_type, last.error_message)))
    return Finding(
        rule=RULE,
        severity=facts.graver(),
        step=facts.step_of(first),
        explanation=(
            f"{quoted(first.tool_name)} failed {len(failing):,} times and did not succeed after that"
            f"{f', the last time with {quoted(error)}' if error else ''}."
        ),
        evidence=chosen(facts.references(failing)),
        at=facts.time_of(last),
        agent_name=first.agent_name,
        tool_name=first.tool_name,
        ordinals=tuple(call.ordinal for call in failing),
    )
