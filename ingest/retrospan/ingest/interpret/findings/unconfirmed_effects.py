"""Effects that nothing confirms: a write whose call failed or never ended, so that it may have happened or not."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.interpret.findings.facts import RunFacts
from retrospan.ingest.interpret.findings.finding import Finding, quoted
from retrospan.schemas.canonical import ToolCallRow
from retrospan.schemas.references import span_ref, step_ref
from retrospan.schemas.stated import EffectRow

RULE = "unconfirmed_effect"
_WRITES = ("write", "destructive")


def unconfirmed_effects(facts: RunFacts) -> Iterator[Finding]:
    """Yield a finding for each. One is settled by a call with its key, or by an equal call, that was carried out or skipped
    after it, and by one that undid it. Calls with its key in other runs settle it in the view."""
    if not facts.effects:
        return
    calls = {call.ordinal: call for call in facts.tool_calls}
    undone = {each.compensates for each in facts.effects if each.effect_status == "executed"}
    for effect in facts.effects:
        if effect.effect not in _WRITES or effect.effect_status != "unknown" or effect.span_id in undone:
            continue
        if any(_settles(later, effect, calls) for later in facts.effects):
            continue
        key = f" (key {quoted(effect.idempotency_key)})" if effect.idempotency_key else ""
        evidence = [span_ref(effect.trace_id, effect.span_id)]
        if effect.step is not None:
            evidence.insert(0, step_ref(facts.run.run_id, effect.step))
        call = calls.get(effect.tool_call or 0)
        yield Finding(
            rule=RULE,
            severity="error",
            step=effect.step,
            explanation=(
                f"{quoted(effect.tool_name)} states a {effect.effect} effect{key}, but nothing says whether it happened: "
                f"{_ending(facts, effect, call)}, and no later call settles it."
            ),
            evidence=tuple(evidence),
            at=effect.at,
            agent_name=call.agent_name if call is not None else None,
            tool_name=effect.tool_name,
            idempotency_key=effect.idempotency_key,
        )


def _ending(facts: RunFacts, effect: EffectRow, call: ToolCallRow | None) -> str:
    """Return how the call ended, so that its effect is not known."""
    step = next((step for step in facts.steps if step.step == effect.step), None)
    status = call.status if call is not None else step.status if step is not None else "unknown"
    return {"error": "the call failed", "incomplete": "the call did not end"}.get(
        status, "its status is unknown"
    )


def _settles(later: EffectRow, effect: EffectRow, calls: dict[int, ToolCallRow]) -> bool:
    if later is effect or later.effect_status not in ("executed", "skipped") or later.at < effect.at:
        return False
    if effect.idempotency_key is not None and later.idempotency_key == effect.idempotency_key:
        return True
    one, other = calls.get(effect.tool_call or 0), calls.get(later.tool_call or 0)
    if one is None or other is None or later.tool_name != effect.tool_name:
        return False
    return bool(one.arguments_hash) and one.arguments_hash == other.arguments_hash
