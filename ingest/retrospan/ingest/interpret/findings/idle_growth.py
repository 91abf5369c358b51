"""Growth without progress: the prompts of an agent grow while its calls bring nothing new, to the end of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.findings.facts import RunFacts
from retrospan.ingest.interpret.findings.finding import Finding, chosen
from retrospan.ingest.interpret.findings.outcomes import acknowledges, outcome_of, says_nothing
from retrospan.ingest.interpret.findings.wording import wording_of
from retrospan.schemas.canonical import ModelCallRow, ToolCallRow

RULE = "idle_growth"
#: So many last calls must have brought nothing new, and prompts grown by that factor and so many tokens.
_LEAST, _FACTOR, _TOKENS = 6, 1.3, 500


def idle_growth(facts: RunFacts, told: Sequence[Finding] = ()) -> Iterator[Finding]:
    """Yield a finding for each agent that ends so, unless those `told` before say so of the same calls."""
    known = {ordinal for finding in told for ordinal in finding.ordinals}
    for calls in facts.by_agent:
        idle = _idle_at_end(calls) if len(calls) >= _LEAST else []
        if len(idle) < _LEAST or sum(call.ordinal in known for call in idle) * 2 > len(idle):
            continue
        asked = _requests(facts, idle)
        if len(asked) < 2:
            continue
        before, after = asked[0].input_tokens or 0, asked[-1].input_tokens or 0
        if after < before * _FACTOR or after - before < _TOKENS:
            continue
        yield Finding(
            rule=RULE,
            severity=facts.graver(),
            step=facts.step_of(idle[0]),
            explanation=(
                f"The last {len(idle):,} tool calls brought nothing new, they failed, repeated earlier ones or found nothing, "
                f"while the prompt grew from {before:,} to {after:,} tokens."
            ),
            evidence=chosen(facts.references(idle)),
            at=facts.time_of(idle[-1]),
            agent_name=idle[0].agent_name,
            ordinals=tuple(call.ordinal for call in idle),
        )


def _idle_at_end(calls: Sequence[ToolCallRow]) -> list[ToolCallRow]:
    """Return the last calls that brought nothing new."""
    seen: set[tuple[str, str | None, object]] = set()
    named: dict[str, _Named] = {}
    idle: list[ToolCallRow] = []
    for call in calls:
        outcome = outcome_of(call)
        key = (call.tool_name, call.arguments_hash, outcome)
        of_tool = named.setdefault(call.tool_name, _Named())
        repeated = bool(call.arguments_hash) and outcome is not None and key in seen
        again = says_nothing(call) and of_tool.has_all_of(call)
        # What only says that it was done, or is not yet, may be waiting.
        if call.status == "error" or ((repeated or again) and not acknowledges(call)):
            idle.append(call)
        else:
            idle.clear()
        seen.add(key)
        of_tool.add(call)
    return idle


class _Named:
    """The things that calls of a tool have named: read when that is asked, as it is of few tools."""

    def __init__(self) -> None:
        self._things: set[str] = set()
        self._unread: list[ToolCallRow] = []

    def add(self, call: ToolCallRow) -> None:
        self._unread.append(call)

    def has_all_of(self, call: ToolCallRow) -> bool:
        """Tell whether a call names anything, and nothing new."""
        self._things.update(*map(_things, self._unread))
        self._unread.clear()
        named = _things(call)
        return bool(named) and named <= self._things


def _things(call: ToolCallRow) -> frozenset[str]:
    wording = wording_of(call.arguments) if call.status == "ok" else None
    return frozenset() if wording is None else wording.names | wording.marked


def _requests(facts: RunFacts, idle: Sequence[ToolCallRow]) -> list[ModelCallRow]:
    """Return the model calls around those calls whose tokens are known, from the one that asked for the first."""
    begin = min(call.asked_by or 0 for call in idle)
    agent = idle[0].agent_name
    return [
        call
        for call in facts.model_calls
        if begin and call.ordinal >= begin and call.agent_name == agent and call.input_tokens is not None
    ]
