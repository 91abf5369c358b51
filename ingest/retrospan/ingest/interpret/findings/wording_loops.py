"""Loops with changed wording: one tool is asked the same in other words, and it returns the same each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from retrospan.ingest.interpret.findings.facts import RunFacts
from retrospan.ingest.interpret.findings.finding import Finding, chosen, quoted
from retrospan.ingest.interpret.findings.outcomes import (
    LEAST,
    acknowledges,
    outcome_of,
    says_nothing,
    what_came,
)
from retrospan.ingest.interpret.findings.wording import (
    Words,
    is_reworded,
    is_substituted,
    question_of,
    wording_of,
)
from retrospan.schemas.canonical import ToolCallRow

RULE = "wording_loop"
#: So many searches that found nothing are a loop though they share no words: in a run that failed, and in any other.
_LEAST_STRANGERS = {True: 4, False: 6}
#: Of longer loops so many calls are compared with each other.
_COMPARED = 50


def wording_loops(facts: RunFacts) -> Iterator[Finding]:
    """Yield a finding for each loop. A list of things that is gone through is none, nor what is found in the end."""
    for calls in facts.by_invocation:
        begin = 0
        for end in range(1, len(calls) + 1):
            if end < len(calls) and _goes_on(calls[end - 1], calls[end]):
                continue
            if _is_loop(facts, calls[begin:end], calls[end:]):
                yield _finding(facts, calls[begin:end])
            begin = end


def _goes_on(before: ToolCallRow, call: ToolCallRow) -> bool:
    outcome = outcome_of(call)
    same = before.tool_name == call.tool_name and outcome_of(before) == outcome
    return same and outcome is not None and outcome[0] == "ok" and call.arguments_hash is not None


def _is_loop(facts: RunFacts, row: Sequence[ToolCallRow], later: Sequence[ToolCallRow]) -> bool:
    first = row[0]
    if len(row) < LEAST or len({call.arguments_hash for call in row}) < 2 or first.arguments_hash is None:
        return False
    if first.effect in ("write", "destructive") or any(_is_found(first, call) for call in later):
        return False
    nothing = says_nothing(first)
    if not nothing and acknowledges(first):
        return False
    group = [wording for call in row if (wording := wording_of(call.arguments)) is not None]
    if len(group) < len(row):
        return False
    question = question_of(group)
    if question is None:
        return False
    if _is_one_question(question.words):
        return True
    if question.topic:
        return len(row) > LEAST and any(
            is_reworded(*pair) for pair in combinations(question.words[:_COMPARED], 2)
        )
    return nothing and _are_strangers(question.words) and len(row) >= _LEAST_STRANGERS[facts.failed]


def _is_found(first: ToolCallRow, call: ToolCallRow) -> bool:
    """Return whether a later call of the tool came to something else."""
    outcome = outcome_of(call)
    if call.tool_name != first.tool_name or outcome is None or outcome[0] != "ok":
        return False
    return outcome != outcome_of(first) and not says_nothing(call)


def _is_one_question(wordings: Sequence[Words]) -> bool:
    return all(
        any(is_reworded(earlier, words) for earlier in wordings[:place][:_COMPARED])
        for place, words in enumerate(wordings[1:], start=1)
    )


def _are_strangers(wordings: Sequence[Words]) -> bool:
    """Return whether the calls are questions of several words, and not a list."""
    several = all(len(words) > 1 for words in wordings)
    return several and not any(is_substituted(one, other) for one, other in pairwise(wordings))


def _finding(facts: RunFacts, row: Sequence[ToolCallRow]) -> Finding:
    first, last = row[0], row[-1]
    what = "the same nothing" if says_nothing(first) else what_came(row)
    wordings = len({call.arguments_hash for call in row})
    return Finding(
        rule=RULE,
        severity=facts.graver(),
        step=facts.step_of(first),
        explanation=(
            f"{quoted(first.tool_name)} was asked {len(row):,} times in a row in {wordings:,} wordings, from "
            f"{quoted(first.arguments)} to {quoted(last.arguments)}, and every call returned {what}: {quoted(first.result)}."
        ),
        evidence=chosen(facts.references(row)),
        at=facts.time_of(last),
        agent_name=first.agent_name,
        tool_name=first.tool_name,
        ordinals=tuple(call.ordinal for call in row),
    )
