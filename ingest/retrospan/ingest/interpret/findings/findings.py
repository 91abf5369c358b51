"""All findings of a run: the rules in order, and their rows."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.interpret.findings.alternations import alternations
from retrospan.ingest.interpret.findings.contradictions import contradictions
from retrospan.ingest.interpret.findings.exact_loops import exact_loops
from retrospan.ingest.interpret.findings.facts import RunFacts
from retrospan.ingest.interpret.findings.finding import Finding
from retrospan.ingest.interpret.findings.full_contexts import full_contexts
from retrospan.ingest.interpret.findings.idle_growth import idle_growth
from retrospan.ingest.interpret.findings.lost_contexts import lost_contexts
from retrospan.ingest.interpret.findings.outcomes import LEAST
from retrospan.ingest.interpret.findings.repeated_failures import repeated_failures
from retrospan.ingest.interpret.findings.unconfirmed_effects import unconfirmed_effects
from retrospan.ingest.interpret.findings.wording_loops import wording_loops

#: Of calls that are repeated. What is wrong with the same calls in two ways is told once, by the first.
_REPETITIONS = (exact_loops, wording_loops, alternations, repeated_failures)
_OTHERS = (full_contexts, lost_contexts, contradictions, unconfirmed_effects)
#: Findings of one rule that a run has at most.
MOST_OF_RULE = 20


def findings_of(facts: RunFacts) -> list[Finding]:
    """Return the findings of a run, by rule, in the order of their steps."""
    told: list[Finding] = []
    if any(len(calls) >= LEAST for calls in facts.by_agent):
        for rule in _REPETITIONS:
            told += _first(rule(facts))
        told += _first(idle_growth(facts, told))
    for rule in _OTHERS:
        told += _first(rule(facts))
    return told


def _first(found: Iterator[Finding]) -> list[Finding]:
    return sorted(found, key=lambda each: (each.step or 0, each.at, each.explanation))[:MOST_OF_RULE]
