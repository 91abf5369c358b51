"""Contexts near their limit: prompts that take nine tenths and more of what the model can read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from retrospan.ingest.interpret.findings.facts import RunFacts
from retrospan.ingest.interpret.findings.finding import Finding
from retrospan.schemas.canonical import ModelCallRow
from retrospan.schemas.references import step_ref

RULE = "full_context"
_NEAR = 0.9
#: In nanoseconds.
_DAY = 86_400 * 10**9
_FIRST_DAY = date(1970, 1, 1).toordinal()


def full_contexts(facts: RunFacts) -> Iterator[Finding]:
    """Yield one finding for each agent: its first call near the limit, and how near its calls came.

    The limit is what the program states, else what the tables say of the model on that day. A call that succeeded beyond
    a table's limit proves the table wrong: it says nothing then.
    """
    by_agent: dict[str | None, list[tuple[ModelCallRow, int, int, str]]] = {}
    known: dict[object, tuple[int | None, str]] = {}
    for call in facts.model_calls:
        used = call.context_tokens if call.context_tokens is not None else call.input_tokens
        if used is None:
            continue
        began = call.started_at or facts.run.started_at
        day = began // _DAY
        what = (call.context_limit, day, call.response_model, call.request_model)
        if what not in known:
            known[what] = _limit(facts, call, day)
        limit, source = known[what]
        if not limit:
            continue
        if source != "stated" and used > limit and call.status != "error":
            continue
        if used >= _NEAR * limit:
            by_agent.setdefault(call.agent_name, []).append((call, used, limit, source))
    for near in by_agent.values():
        first, _, limit, source = near[0]
        used = max(used for _, used, _, _ in near)
        model = first.response_model or first.request_model or "the model"
        said = "as the program states" if source == "stated" else f"by the table {source}"
        yield Finding(
            rule=RULE,
            severity=facts.graver(),
            step=first.step,
            explanation=(
                f"The prompt took {used:,} of the {limit:,} tokens that {model} can read ({used * 100 // limit} %, {said}), "
                f"in {len(near):,} model call{'s' if len(near) != 1 else ''} at least {_NEAR:.0%}."
            ),
            evidence=tuple(step_ref(facts.run.run_id, call.step) for call, *_ in near[:20]),
            at=first.started_at or facts.run.started_at,
            agent_name=first.agent_name,
        )


def _limit(facts: RunFacts, call: ModelCallRow, days: int) -> tuple[int | None, str]:
    if call.context_limit:
        return call.context_limit, "stated"
    day = date.fromordinal(_FIRST_DAY + days)
    for model in (call.response_model, call.request_model):
        found = facts.limits.of(model, day) if model else None
        if found is not None:
            return found
    return None, ""
