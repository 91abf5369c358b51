"""A run as canonical rows: the last pure step before the tables."""

from __future__ import annotations

from retrospan.ingest.interpret.findings.facts import RunFacts
from retrospan.ingest.interpret.lineage.provenance import Edge
from retrospan.ingest.interpret.outcome.agents import Agent
from retrospan.ingest.interpret.outcome.attempts import Attempt
from retrospan.ingest.interpret.outcome.failures import Failure
from retrospan.ingest.interpret.rows.act_rows import model_call_row, step_row, tool_call_row
from retrospan.ingest.interpret.rows.cost_rows import cost_rows, note_total, wasted_calls, whole_run_rows
from retrospan.ingest.interpret.rows.finding_rows import finding_rows
from retrospan.ingest.interpret.rows.habit_rows import habit_rows, loop_rows
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.run_row import run_row
from retrospan.ingest.interpret.rows.shared_refs import crossings_of
from retrospan.ingest.interpret.run import InterpretedRun
from retrospan.ingest.interpret.spans.key import Key
from retrospan.ingest.interpret.stated import rows as stated_rows
from retrospan.ingest.interpret.steps.states import Change
from retrospan.ingest.interpret.steps.values import Value
from retrospan.ingest.prices.history import NO_PRICES, PriceHistory
from retrospan.schemas import canonical as rows


def rows_of(
    run: InterpretedRun,
    tenant: str,
    generation: int,
    history_run_id: str | None,
    prices: PriceHistory = NO_PRICES,
) -> Rows:
    """Return all rows of a run but those of its spans and traces."""
    key = Key(tenant=tenant, run_id=run.run_id, generation=generation)
    out = Rows()
    _add_acts(out, key, run)
    out.state_changes = [_change(key, change) for change in run.changes]
    out.edges = [_edge(key, edge) for edge in run.edges]
    # That a document is one of several versions ties no runs together: each run says so of what it used.
    ends = [("" if edge.is_version else edge.subject, edge.object) for edge in run.edges]
    out.crossings = [
        rows.CrossingRow(tenant=tenant, run_id=run.run_id, generation=generation, reference=shared, side=side)
        for shared, side in crossings_of(run.run_id, ends)
    ]
    if run.failures:
        out.failures = [_failure(key, failure) for failure in run.failures]
    if run.attempts:
        out.attempts = [_attempt(key, attempt) for attempt in run.attempts]
    out.agents = [_agent(key, agent) for agent in run.agents]
    out.loops = loop_rows(key, out.tool_calls, run.invocations)
    out.habits = habit_rows(key, out.tool_calls)
    _add_statements(out, key, run)
    out.problems = [
        rows.ProblemRow(**key, span_id=p.span_id, field=p.field, raw=p.raw, reason=p.reason)
        for p in run.problems
    ]
    final = run.values.prompt(run.final_history, 0)
    out.runs = [run_row(key, run, final, history_run_id)]
    _add_costs(out, key, run, prices)
    # Last: building the rows above may still have numbered values.
    out.values = [_value(key, number, value) for number, value in enumerate(run.values.all, start=1)]
    out.findings = finding_rows(key, _facts(out, run))
    return out


def _facts(out: Rows, run: InterpretedRun) -> RunFacts:
    return RunFacts(
        run=out.runs[0],
        tool_calls=out.tool_calls,
        invocations=run.invocations,
        model_calls=out.model_calls,
        steps=out.steps,
        failures=out.failures,
        effects=out.effects,
        compactions=out.compactions,
        values=out.values,
        limits=run.limits,
    )


def _add_acts(out: Rows, key: Key, run: InterpretedRun) -> None:
    step_of_model = {step.model.ordinal: step.number for step in run.steps if step.model is not None}
    step_of_tool = {step.tool: step.number for step in run.steps if step.tool is not None}
    out.model_calls = [
        model_call_row(key, call, use, step_of_model[call.ordinal], run.values)
        for call, use in zip(run.calls.models, run.context, strict=True)
    ]
    out.tool_calls = [
        tool_call_row(key, ordinal, tool, step_of_tool.get(tool), run)
        for ordinal, tool in enumerate(run.calls.tools, start=1)
    ]
    tool_ordinals = {tool: ordinal for ordinal, tool in enumerate(run.calls.tools, start=1)}
    out.steps = [step_row(key, step, tool_ordinals) for step in run.steps]


def _add_costs(out: Rows, key: Key, run: InterpretedRun, prices: PriceHistory) -> None:
    wasted = wasted_calls(out.tool_calls, run.invocations, out.loops, out.attempts, out.steps)
    out.costs, of_calls = cost_rows(key, run, out.model_calls, out.steps, wasted, prices)
    above, of_whole = whole_run_rows(key, run, prices)
    out.costs += above
    note_total(out.runs[0], of_whole or [*of_calls.values()])
    for agent, row in zip(run.agents, out.agents, strict=True):
        note_total(row, [of_calls[ordinal] for ordinal in agent.asked if ordinal in of_calls])


def _add_statements(out: Rows, key: Key, run: InterpretedRun) -> None:
    said = run.statements
    if not said.there_are_any:
        return
    out.observations = [stated_rows.observation_row(key, one) for one in said.observations]
    out.uses = [stated_rows.use_row(key, use) for use in said.uses]
    out.decisions = [stated_rows.decision_row(key, decision) for decision in said.decisions]
    out.effects = [stated_rows.effect_row(key, effect) for effect in said.effects]
    out.checkpoints = [stated_rows.checkpoint_row(key, checkpoint) for checkpoint in said.checkpoints]
    out.approvals = [stated_rows.approval_row(key, approval) for approval in said.approvals]
    out.compactions = [stated_rows.compaction_row(key, compaction) for compaction in said.compactions]
    out.evaluations = [stated_rows.evaluation_row(key, evaluation) for evaluation in said.evaluations]


def _change(key: Key, change: Change) -> rows.StateChangeRow:
    return rows.StateChangeRow(
        tenant=key["tenant"],
        run_id=key["run_id"],
        generation=key["generation"],
        step=change.step,
        key=change.key,
        value=change.value,
        changed_at_step=change.changed_at_step,
        span_id=change.span_id,
    )


def _edge(key: Key, edge: Edge) -> rows.EdgeRow:
    return rows.EdgeRow(
        tenant=key["tenant"],
        run_id=key["run_id"],
        generation=key["generation"],
        subject=edge.subject,
        relation=edge.relation,
        object=edge.object,
        role=edge.role,
        evidence=edge.evidence,
        step=edge.step,
        at=edge.at,
        place=edge.place,
    )


def _failure(key: Key, failure: Failure) -> rows.FailureRow:
    return rows.FailureRow(
        **key,
        step=failure.step,
        trace_id=failure.span.sent.trace_id,
        span_id=failure.span.sent.span_id,
        origin=failure.origin,
        error_class=failure.error_class,
        error_type=failure.error_type,
        error_message=failure.error_message,
        handled=failure.handled,
        at=failure.at,
    )


def _attempt(key: Key, attempt: Attempt) -> rows.AttemptRow:
    return rows.AttemptRow(
        **key,
        step=attempt.step.number,
        tool_name=attempt.step.tool.name if attempt.step.tool else None,
        attempt=attempt.number,
        of_step=attempt.of_step,
        backoff_ms=attempt.backoff_ms,
        error_type=attempt.step.span.error_type,
        status=attempt.step.status,
    )


def _agent(key: Key, agent: Agent) -> rows.AgentRow:
    return rows.AgentRow(
        **key,
        agent_name=agent.name,
        parent_agent_name=agent.parent,
        asked_by=agent.asked_by,
        first_step=agent.first_step,
        last_step=agent.last_step,
        model_calls=agent.model_calls,
        tool_calls=agent.tool_calls,
        failures=agent.failures,
        input_tokens=agent.input_tokens,
        output_tokens=agent.output_tokens,
    )


def _value(key: Key, number: int, value: Value) -> rows.ValueRow:
    return rows.ValueRow(
        tenant=key["tenant"],
        run_id=key["run_id"],
        generation=key["generation"],
        number=number,
        kind=value.kind,
        hash=value.hash,
        role=value.role,
        first_call=value.first_call,
        json=value.json,
        elements=value.elements,
    )
