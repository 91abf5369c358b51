"""Decisions, checkpoints and approvals, from their events."""

from __future__ import annotations

from dataclasses import dataclass

from retrospan.ingest.interpret.stated.events import StatedEvent
from retrospan.ingest.json_text import write_json
from retrospan.schemas import attributes as conventions


@dataclass(frozen=True, slots=True)
class Decision:
    event: StatedEvent
    name: str | None
    options: str | None  # JSON array
    chosen: str | None
    rationale: str | None
    confidence: float | None  # 0 to 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    event: StatedEvent
    checkpoint_id: str
    parent_id: str | None
    trigger: str | None


@dataclass(frozen=True, slots=True)
class Approval:
    event: StatedEvent
    decision: str
    approver: str | None
    explanation: str | None


def read_decision(event: StatedEvent) -> Decision:
    """Return a choice; a decision without a name or without what was chosen is kept, and listed as a problem."""
    fields = event.fields
    options = fields.json_array(conventions.DECISION_OPTIONS)
    fields.required(conventions.DECISION_CHOSEN, conventions.DECISION)
    return Decision(
        event,
        fields.required(conventions.DECISION_NAME, conventions.DECISION),
        None if options is None else write_json(options),
        fields.text(conventions.DECISION_CHOSEN),
        fields.text(conventions.DECISION_RATIONALE),
        fields.share(conventions.DECISION_CONFIDENCE),
    )


def read_checkpoint(event: StatedEvent) -> Checkpoint | None:
    """Return a point that the run can be resumed from; without an id there is none."""
    fields = event.fields
    checkpoint_id = fields.required(conventions.CHECKPOINT_ID, conventions.CHECKPOINT)
    if checkpoint_id is None:
        return None
    return Checkpoint(
        event,
        checkpoint_id,
        fields.text(conventions.CHECKPOINT_PARENT),
        fields.text(conventions.CHECKPOINT_TRIGGER),
    )


def read_approval(event: StatedEvent) -> Approval | None:
    """Return a person's decision about an act of the agent."""
    fields = event.fields
    decision = fields.required(conventions.APPROVAL_DECISION, conventions.APPROVAL)
    if decision is None:
        return None
    return Approval(
        event,
        decision,
        fields.text(conventions.APPROVAL_APPROVER),
        fields.text(conventions.APPROVAL_EXPLANATION),
    )
