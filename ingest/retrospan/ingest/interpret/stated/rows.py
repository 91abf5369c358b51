"""What the agents of a run state, as canonical rows."""

from __future__ import annotations

from typing import TypedDict

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.key import Key
from retrospan.ingest.interpret.stated.compactions import Compaction
from retrospan.ingest.interpret.stated.effects import StatedEffect
from retrospan.ingest.interpret.stated.evaluations import Evaluation
from retrospan.ingest.interpret.stated.events import StatedEvent
from retrospan.ingest.interpret.stated.observations import Observation, Use
from retrospan.ingest.interpret.stated.records import Approval, Checkpoint, Decision
from retrospan.schemas import stated as rows


class _Place(TypedDict):
    """Where a thing was said."""

    step: int | None
    trace_id: str
    span_id: str


def _place(step: int | None, span: NormalizedSpan) -> _Place:
    return _Place(step=step, trace_id=span.sent.trace_id, span_id=span.sent.span_id)


def _place_of(event: StatedEvent) -> _Place:
    return _place(event.step, event.span)


def observation_row(key: Key, one: Observation) -> rows.ObservationRow:
    return rows.ObservationRow(
        **key,
        **_place(one.step, one.span),
        entity_type=one.entity_type,
        entity_id=one.entity_id,
        field=one.field,
        observation_id=one.observation_id,
        op=one.op,
        value=one.value,
        value_hash=one.value_hash,
        valid_from=one.valid_from,
        known_from=one.known_from,
        said_at=one.said_at,
        agent_name=one.span.agent_name,
        source=one.source,
        confidence=one.confidence,
        priority=one.priority,
        correction=one.correction,
        reason=one.reason,
    )


def use_row(key: Key, use: Use) -> rows.UseRow:
    return rows.UseRow(
        **key,
        **_place(use.step, use.span),
        entity_type=use.entity_type,
        entity_id=use.entity_id,
        field=use.field,
        observation_id=use.observation_id,
        agent_name=use.span.agent_name,
        at=use.at,
    )


def decision_row(key: Key, decision: Decision) -> rows.DecisionRow:
    return rows.DecisionRow(
        **key,
        **_place_of(decision.event),
        name=decision.name,
        options=decision.options,
        chosen=decision.chosen,
        rationale=decision.rationale,
        confidence=decision.confidence,
        agent_name=decision.event.span.agent_name,
        at=decision.event.at,
    )


def effect_row(key: Key, effect: StatedEffect) -> rows.EffectRow:
    return rows.EffectRow(
        **key,
        **_place(effect.step, effect.span),
        tool_call=effect.tool_call,
        tool_name=effect.tool_name,
        effect=effect.effect,
        effect_status=effect.status,
        idempotency_key=effect.idempotency_key,
        compensates=effect.compensates,
        attempt=effect.attempt,
        at=effect.at,
    )


def checkpoint_row(key: Key, checkpoint: Checkpoint) -> rows.CheckpointRow:
    return rows.CheckpointRow(
        **key,
        **_place_of(checkpoint.event),
        checkpoint_id=checkpoint.checkpoint_id,
        parent_id=checkpoint.parent_id,
        trigger=checkpoint.trigger,
        at=checkpoint.event.at,
    )


def approval_row(key: Key, approval: Approval) -> rows.ApprovalRow:
    return rows.ApprovalRow(
        **key,
        **_place_of(approval.event),
        decision=approval.decision,
        approver=approval.approver,
        explanation=approval.explanation,
        at=approval.event.at,
    )


def compaction_row(key: Key, compaction: Compaction) -> rows.CompactionRow:
    return rows.CompactionRow(
        **key,
        **_place_of(compaction.event),
        model_call=compaction.model_call,
        kind=compaction.kind,
        tokens_before=compaction.tokens_before,
        tokens_after=compaction.tokens_after,
        at=compaction.event.at,
    )


def evaluation_row(key: Key, evaluation: Evaluation) -> rows.EvaluationRow:
    place = _place(evaluation.step, evaluation.span)
    if evaluation.is_loose:
        place["span_id"] = ""
    return rows.EvaluationRow(
        **key,
        **place,
        name=evaluation.name,
        score=evaluation.score,
        label=evaluation.label,
        explanation=evaluation.explanation,
        judged=evaluation.judged,
        judge=evaluation.judge,
        response_id=evaluation.response_id,
        error_type=evaluation.error_type,
        at=evaluation.at,
    )
