"""The findings of a run as canonical rows."""

from __future__ import annotations

from retrospan.ingest.interpret.findings.facts import RunFacts
from retrospan.ingest.interpret.findings.findings import findings_of
from retrospan.ingest.interpret.spans.key import Key
from retrospan.schemas.findings import FindingRow


def finding_rows(key: Key, facts: RunFacts) -> list[FindingRow]:
    """Return a row for each finding."""
    return [
        FindingRow(
            **key,
            rule=finding.rule,
            severity=finding.severity,
            step=finding.step,
            agent_name=finding.agent_name,
            tool_name=finding.tool_name,
            evidence=[*finding.evidence],
            explanation=finding.explanation,
            at=finding.at,
            idempotency_key=finding.idempotency_key,
        )
        for finding in findings_of(facts)
    ]
