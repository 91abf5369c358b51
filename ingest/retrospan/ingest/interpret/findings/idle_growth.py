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
    for calls in facts.by_invocation:
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
    keys = [(call.tool_name, call.arguments_hash, outcome_of(call)) for call in calls]
    first = {key: place for place, key in reversed([*enumerate(keys)])}
    named = _Named(calls)
    idle: list[ToolCallRow] = []
    # From the end: mostly the last call already brought something.
    for place in range(len(calls) - 1, -1, -1):
        call, key = calls[place], keys[place]
        if call.status != "error":
            repeated = bool(call.arguments_hash) and key[2] is not None and first[key] < place
            again = repeated or (says_nothing(call) and named.are_all_before(place))
            # What only says that it was done, or is not yet, may be waiting.
            if not again or acknowledges(call):
                break
        idle.append(call)
    return idle[::-1]


class _Named:
    """The things that calls have named, by tool: read when that is asked, as it is of few tools."""

    def __init__(self, calls: Sequence[ToolCallRow]) -> None:
        self._calls = calls
        self._first: dict[str, dict[str, int]] = {}

    def are_all_before(self, place: int) -> bool:
        """Tell whether a call names anything, and nothing that earlier calls of its tool did not."""
        tool = self._calls[place].tool_name
        first = self._first.get(tool)
        if first is None:
            first = self._first[tool] = {}
            for at, call in enumerate(self._calls):
                if call.tool_name == tool:
                    for thing in _things(call):
                        first.setdefault(thing, at)
        things = _things(self._calls[place])
        return bool(things) and all(first[thing] < place for thing in things)


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
