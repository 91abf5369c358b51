"""What the agents of a run state, as canonical rows."""

from __future__ import annotations

from typing import TypedDict

from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.key import Key
from retrospan.ingest.interpret.stated.effects import Effect
from retrospan.ingest.interpret.stated.events import Said
from retrospan.ingest.interpret.stated.observations import Observation, Use
from retrospan.ingest.interpret.stated.records import Approval, Checkpoint, Compaction, Decision
from retrospan.schemas import stated as rows


class _Place(TypedDict):
    """Where a thing was said."""

    step: int | None
    trace_id: str
    span_id: str


def _place(step: int | None, reading: NormalizedSpan) -> _Place:
    return _Place(step=step, trace_id=reading.span.trace_id, span_id=reading.span.span_id)


def _place_of(said: Said) -> _Place:
    return _place(said.step, said.reading)


def observation_row(key: Key, one: Observation) -> rows.ObservationRow:
    return rows.ObservationRow(
        **key,
        **_place(one.step, one.reading),
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
        agent_name=one.reading.agent_name,
        source=one.source,
        confidence=one.confidence,
        priority=one.priority,
        correction=one.correction,
        reason=one.reason,
    )


def use_row(key: Key, use: Use) -> rows.UseRow:
    return rows.UseRow(
        **key,
        **_place(use.step, use.reading),
        entity_type=use.entity_type,
        entity_id=use.entity_id,
        field=use.field,
        observation_id=use.observation_id,
        agent_name=use.reading.agent_name,
        at=use.at,
    )


def decision_row(key: Key, decision: Decision) -> rows.DecisionRow:
    return rows.DecisionRow(
        **key,
        **_place_of(decision.said),
        name=decision.name,
        options=decision.options,
        chosen=decision.chosen,
        rationale=decision.rationale,
        confidence=decision.confidence,
        agent_name=decision.said.reading.agent_name,
        at=decision.said.at,
    )


def effect_row(key: Key, effect: Effect) -> rows.EffectRow:
    return rows.EffectRow(
        **key,
        **_place(effect.step, effect.reading),
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
        **_place_of(checkpoint.said),
        checkpoint_id=checkpoint.checkpoint_id,
        parent_id=checkpoint.parent_id,
        trigger=checkpoint.trigger,
        at=checkpoint.said.at,
    )


def approval_row(key: Key, approval: Approval) -> rows.ApprovalRow:
    return rows.ApprovalRow(
        **key,
        **_place_of(approval.said),
        decision=approval.decision,
        approver=approval.approver,
        explanation=approval.explanation,
        at=approval.said.at,
    )


def compaction_row(key: Key, compaction: Compaction) -> rows.CompactionRow:
    return rows.CompactionRow(
        **key,
        **_place_of(compaction.said),
        model_call=compaction.model_call,
        kind=compaction.kind,
        tokens_before=compaction.tokens_before,
        tokens_after=compaction.tokens_after,
        at=compaction.said.at,
    )
