"""The canonical rows of what agents state themselves: each class mirrors one `canon_*` table, column for column.

Entities and what was observed and used of them, decisions, effects on the world, checkpoints, approvals, compactions
and evaluations. Conventions are those of `retrospan.schemas.canonical`: unknown is None, times are Unix nanoseconds.
`step` is None if something was stated outside any step. The `at` of an event is the producer's time of it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class ObservationRow:
    """One statement about one field of one entity."""

    tenant: str
    run_id: str
    generation: int
    entity_type: str
    entity_id: str
    field: str
    observation_id: str
    op: str  # set | clear
    value: str | None  # JSON; None: the field is cleared
    value_hash: str  # comparison hash; '' when the field is cleared
    valid_from: int  # since when it holds in the world
    known_from: int  # when it arrived
    said_at: int  # when it was said, by the producer's clock
    step: int | None
    trace_id: str
    span_id: str
    agent_name: str | None
    source: str | None
    confidence: float | None  # 0 to 1
    priority: int  # up to 999; a correction has 1000
    correction: bool
    reason: str | None


@dataclass(slots=True, kw_only=True)
class UseRow:
    """An entity, or one field of it, was relied on."""

    tenant: str
    run_id: str
    generation: int
    entity_type: str
    entity_id: str
    field: str | None  # None: the whole entity, or the fields of the observation
    observation_id: str | None  # None: what held at that time
    step: int | None
    trace_id: str
    span_id: str
    agent_name: str | None
    at: int


@dataclass(slots=True, kw_only=True)
class DecisionRow:
    tenant: str
    run_id: str
    generation: int
    step: int | None
    trace_id: str
    span_id: str
    name: str | None
    options: str | None  # JSON array
    chosen: str | None
    rationale: str | None
    confidence: float | None  # 0 to 1
    agent_name: str | None
    at: int


@dataclass(slots=True, kw_only=True)
class EffectRow:
    """A call that may change the world, as the span of the call says."""

    tenant: str
    run_id: str
    generation: int
    step: int | None
    tool_call: int | None  # ordinal; None when the span is not a tool call
    tool_name: str  # the name of the span when it is not a tool call
    trace_id: str
    span_id: str
    effect: str | None  # none | read | write | destructive
    effect_status: str  # planned | executed | skipped | failed | unknown
    idempotency_key: str | None
    compensates: str | None  # span id
    attempt: int | None
    at: int


@dataclass(slots=True, kw_only=True)
class CheckpointRow:
    tenant: str
    run_id: str
    generation: int
    step: int | None
    trace_id: str
    span_id: str
    checkpoint_id: str
    parent_id: str | None
    trigger: str | None
    at: int


@dataclass(slots=True, kw_only=True)
class ApprovalRow:
    tenant: str
    run_id: str
    generation: int
    step: int | None
    trace_id: str
    span_id: str
    decision: str
    approver: str | None
    explanation: str | None
    at: int


@dataclass(slots=True, kw_only=True)
class CompactionRow:
    tenant: str
    run_id: str
    generation: int
    step: int | None
    trace_id: str
    span_id: str
    model_call: int  # ordinal of the first call with the new context; 0: there is none
    kind: str | None  # summary | edit | trim
    tokens_before: int | None
    tokens_after: int | None
    at: int


@dataclass(slots=True, kw_only=True)
class EvaluationRow:
    """One result of an evaluator, or that it came to none."""

    tenant: str
    run_id: str
    generation: int
    step: int | None
    trace_id: str
    span_id: str
    name: str | None
    score: float | None
    label: str | None
    explanation: str | None
    judged: str | None  # a reference
    judge: str | None
    response_id: str | None  # of the answer that was judged, as the evaluator names it
    error_type: str | None  # why there is no result
    at: int
