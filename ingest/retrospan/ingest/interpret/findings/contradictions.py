"""Contradictions: values of a tool's result that the answer states otherwise, and identifiers of the question that a call
is given otherwise.

Only what is certain counts. The answer states a value that nobody told the run and that follows from nothing it was told,
in the place of the value that a result holds, which the answer does not state. Whatever the run may have been told and is
not on record, an image, a result without content or one that was cut, makes the rule silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrospan.ingest.interpret.findings.facts import RunFacts
from retrospan.ingest.interpret.findings.finding import Finding, quoted
from retrospan.ingest.interpret.findings.misgiven_identifiers import MOST_DIGITS, misgiven_identifiers
from retrospan.ingest.interpret.findings.restated_amounts import restated_amounts
from retrospan.ingest.interpret.findings.restated_dates import restated_dates
from retrospan.ingest.interpret.findings.said_values import differing, identifiers, shape_of
from retrospan.ingest.interpret.findings.told import Told, read_told
from retrospan.schemas.canonical import ToolCallRow

RULE = "contradiction"
_EXAMPLE = re.compile(
    r"(?:e\.g\.|example|such as|like|format|placeholder|instead of|\bnot)\W{0,3}$", re.IGNORECASE
)
#: (what kind of value, as the result has it, as the answer has it, the call)
Restated = tuple[str, str, str, ToolCallRow]


def contradictions(facts: RunFacts) -> Iterator[Finding]:
    """Yield a finding for each value, once."""
    for asked, given, call in misgiven_identifiers(facts):
        explanation = (
            f"{quoted(call.tool_name)} was given the identifier {quoted(given)}, but the user named {quoted(asked)}, and "
            f"nothing that the run was told before has {quoted(given)}."
        )
        yield _finding(facts, call, explanation, at=facts.time_of(call))
    told = read_told(facts)
    if told is None:
        return
    found: list[Restated] = [*_restated_identifiers(told), *restated_amounts(told), *restated_dates(told)]
    for kind, value, stated, call in found:
        explanation = (
            f"The answer states the {kind} {quoted(stated)}, but {quoted(call.tool_name)} returned {quoted(value)}, and "
            "nothing that the run was told says otherwise."
        )
        yield _finding(
            facts, call, explanation, facts.run.answer_ref, at=facts.run.ended_at or facts.time_of(call)
        )


def _finding(
    facts: RunFacts, call: ToolCallRow, explanation: str, answer: str | None = None, *, at: int
) -> Finding:
    """Return the finding at a call, with it and the answer as evidence."""
    return Finding(
        rule=RULE,
        severity="error",
        step=facts.step_of(call),
        explanation=explanation,
        evidence=(facts.reference(call), *filter(None, [answer])),
        at=at,
        agent_name=call.agent_name,
        tool_name=call.tool_name,
    )


def _restated_identifiers(told: Told) -> Iterator[Restated]:
    stated = [match for match in identifiers(told.answer) if match[0].casefold() not in told.folded]
    if not stated:
        return
    by_shape: dict[str, dict[str, tuple[str, ToolCallRow]]] = {}
    for call in told.results:
        for match in identifiers(call.result or ""):
            by_shape.setdefault(shape_of(match[0]), {}).setdefault(match[0].casefold(), (match[0], call))
    answer, seen = told.answer.casefold(), set[str]()
    for match in stated:
        wrong = match[0].casefold()
        if wrong in seen or _EXAMPLE.search(told.answer[: match.start()]):
            continue
        seen.add(wrong)
        near = [
            right
            for right in by_shape.get(shape_of(wrong), {})
            if right not in answer and differing(right, wrong) <= MOST_DIGITS
        ]
        if len(near) == 1:
            right, call = by_shape[shape_of(wrong)][near[0]]
            yield "identifier", right, match[0], call
