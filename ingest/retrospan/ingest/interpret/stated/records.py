"""Decisions, checkpoints, approvals and compactions, from their events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.assembly.calls import ModelCall
from retrospan.ingest.interpret.stated.events import Said
from retrospan.ingest.json_text import write_json
from retrospan.schemas.attributes import (
    APPROVAL,
    APPROVAL_APPROVER,
    APPROVAL_DECISION,
    APPROVAL_EXPLANATION,
    CHECKPOINT,
    CHECKPOINT_ID,
    CHECKPOINT_PARENT,
    CHECKPOINT_TRIGGER,
    COMPACTION_TOKENS_AFTER,
    COMPACTION_TOKENS_BEFORE,
    COMPACTION_TYPE,
    DECISION,
    DECISION_CHOSEN,
    DECISION_CONFIDENCE,
    DECISION_NAME,
    DECISION_OPTIONS,
    DECISION_RATIONALE,
)

COMPACTIONS = ("summary", "edit", "trim")


@dataclass(frozen=True, slots=True)
class Decision:
    said: Said
    name: str | None
    options: str | None  # JSON array
    chosen: str | None
    rationale: str | None
    confidence: float | None  # 0 to 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    said: Said
    checkpoint_id: str
    parent_id: str | None
    trigger: str | None


@dataclass(frozen=True, slots=True)
class Approval:
    said: Said
    decision: str
    approver: str | None
    explanation: str | None


@dataclass(frozen=True, slots=True)
class Compaction:
    said: Said
    kind: str | None
    tokens_before: int | None
    tokens_after: int | None
    model_call: int  # ordinal of the first call of the same agent after it; 0: there is none


def read_decision(said: Said) -> Decision:
    """Return a choice; a decision without a name or without what was chosen is kept, and listed as a problem."""
    fields = said.fields
    options = fields.json_array(DECISION_OPTIONS)
    fields.required(DECISION_CHOSEN, DECISION)
    return Decision(
        said,
        fields.required(DECISION_NAME, DECISION),
        None if options is None else write_json(options),
        fields.text(DECISION_CHOSEN),
        fields.text(DECISION_RATIONALE),
        fields.share(DECISION_CONFIDENCE),
    )


def read_checkpoint(said: Said) -> Checkpoint | None:
    """Return a point that the run can be resumed from; without an id there is none."""
    fields = said.fields
    checkpoint_id = fields.required(CHECKPOINT_ID, CHECKPOINT)
    if checkpoint_id is None:
        return None
    return Checkpoint(said, checkpoint_id, fields.text(CHECKPOINT_PARENT), fields.text(CHECKPOINT_TRIGGER))


def read_approval(said: Said) -> Approval | None:
    """Return what somebody decided about an act of the agent."""
    fields = said.fields
    decision = fields.required(APPROVAL_DECISION, APPROVAL)
    if decision is None:
        return None
    return Approval(said, decision, fields.text(APPROVAL_APPROVER), fields.text(APPROVAL_EXPLANATION))


def read_compaction(said: Said, calls: Sequence[ModelCall]) -> Compaction:
    """Return a shortening of the context, with the first model call of the agent that began after it."""
    fields = said.fields
    agent = said.reading.agent_name
    following = (
        call.ordinal
        for call in calls
        if call.reading.span.started_at >= said.at and (agent is None or call.reading.agent_name == agent)
    )
    return Compaction(
        said,
        fields.choice(COMPACTION_TYPE, COMPACTIONS),
        fields.count(COMPACTION_TOKENS_BEFORE),
        fields.count(COMPACTION_TOKENS_AFTER),
        next(following, 0),
    )
