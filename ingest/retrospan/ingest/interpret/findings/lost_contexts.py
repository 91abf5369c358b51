"""Context that was lost before a failure: messages left a prompt, and the agent failed after that."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.interpret.findings.facts import RunFacts
from retrospan.ingest.interpret.findings.finding import Finding, quoted
from retrospan.schemas.canonical import FailureRow, ModelCallRow
from retrospan.schemas.references import span_ref, step_ref

RULE = "lost_context"


def lost_contexts(facts: RunFacts) -> Iterator[Finding]:
    """Yield one finding for each agent: the last loss before its first failure that it did not get over.

    Nothing is said of an agent that went on well, nor of a failure that would have passed by itself.
    """
    if not facts.failures:
        return
    agents = {step.step: step.agent_name for step in facts.steps}
    compacted = {each.model_call: each.kind for each in facts.compactions if each.model_call}
    failed: set[str | None] = set()
    for failure in sorted(facts.failures, key=lambda each: each.at):
        if failure.handled or failure.error_class == "transient" or failure.step is None:
            continue
        agent = agents.get(failure.step)
        if agent in failed:
            continue
        failed.add(agent)
        losses = [
            call
            for call in facts.model_calls
            if call.agent_name == agent
            and call.step <= failure.step
            and (call.messages_lost or call.ordinal in compacted)
        ]
        if losses:
            loss = losses[-1]
            yield _finding(facts, loss, compacted.get(loss.ordinal), failure)


def _finding(facts: RunFacts, loss: ModelCallRow, compaction: str | None, failure: FailureRow) -> Finding:
    run_id = facts.run.run_id
    how = loss.lost_how or compaction or "lost"
    lost = (
        f"{loss.messages_lost:,} message{'s' if loss.messages_lost != 1 else ''}"
        if loss.messages_lost
        else "context"
    )
    error = ": ".join(filter(None, (failure.error_type, failure.error_message)))
    evidence = [step_ref(run_id, loss.step), span_ref(failure.trace_id, failure.span_id)]
    if failure.step is not None:
        evidence.insert(1, step_ref(run_id, failure.step))
    return Finding(
        rule=RULE,
        severity="error",
        step=loss.step,
        explanation=(
            f"The model call of step {loss.step} no longer read {lost} that the one before it had read ({how}), and "
            f"{'it' if failure.step == loss.step else f'step {failure.step}'} failed{f': {quoted(error)}' if error else ''}."
        ),
        evidence=tuple(dict.fromkeys(evidence)),
        at=failure.at,
        agent_name=loss.agent_name,
    )
