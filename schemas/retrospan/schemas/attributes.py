"""The names of the `retrospan.*` conventions, version 1: each lives here once.

Agents set them with any OpenTelemetry SDK, or with `retrospan.exporter`; interpretation reads them. JSON values are
sent as JSON text in a string attribute. docs/conventions.md explains each name.
"""

from __future__ import annotations

#: What every name begins with.
CONVENTIONS = "retrospan."
#: The scope of what `retrospan.exporter` records itself.
SCOPE_NAME = "retrospan.recording"

#: On spans: the run
RUN_ID = "retrospan.run.id"
RUN_ORIGIN = "retrospan.run.origin"
RUN_KIND = "retrospan.run.kind"
RUN_FLAGGED = "retrospan.run.flagged"

#: On spans: the step and its tries
STEP_INDEX = "retrospan.step.index"
STEP_NAME = "retrospan.step.name"
STEP_TOTAL = "retrospan.step.total"
ATTEMPT = "retrospan.attempt"
BACKOFF_MS = "retrospan.attempt.backoff_ms"

#: On spans: the state around it
STATE_BEFORE = "retrospan.state.before"
STATE_AFTER = "retrospan.state.after"
STATE_PATCH = "retrospan.state.patch"
STATE_SCHEMA = "retrospan.state.schema"

#: On spans: what a block of code drew from outside, as JSON
DRAWS = "retrospan.draws"

#: On spans: what it does to the world, and what it made
EFFECT = "retrospan.effect"
EFFECT_STATUS = "retrospan.effect.status"
IDEMPOTENCY_KEY = "retrospan.idempotency.key"
COMPENSATES = "retrospan.compensates"
OUTPUT_ID = "retrospan.output.id"

#: On spans: the context window, errors, and what was taken out
CONTEXT_LIMIT = "retrospan.context.limit"
CONTEXT_TOKENS = "retrospan.context.tokens"
ERROR_ORIGIN = "retrospan.error.origin"
ERROR_CLASS = "retrospan.error.class"
REDACTED = "retrospan.redacted"

#: Events on spans
OBSERVATION = "retrospan.observation"
USE = "retrospan.use"
DECISION = "retrospan.decision"
CHECKPOINT = "retrospan.checkpoint"
DERIVATION = "retrospan.derivation"
COMPACTION = "retrospan.compaction"
APPROVAL = "retrospan.approval"

#: Events that say what spans say too, sent as log records in the middle of a span
EFFECT_EVENT = "retrospan.effect"
OUTPUT_EVENT = "retrospan.output"
STATE_EVENT = "retrospan.state"

#: On every event: one fact, however often and however it comes
EVENT_ID = "retrospan.event.id"

#: The event that a span has begun, sent as a log record, and what it says beyond the span's attributes
BEGUN = "retrospan.begun"
BEGUN_NAME = "retrospan.begun.name"
BEGUN_KIND = "retrospan.begun.kind"
BEGUN_PARENT = "retrospan.begun.parent_span_id"
BEGUN_REMOTE = "retrospan.begun.parent_remote"
BEGUN_LINKS = "retrospan.begun.links"

#: Events of a process, sent as log records: it lives; it ended without closing its spool
ALIVE = "retrospan.alive"
ALIVE_INTERVAL = "retrospan.alive.interval_seconds"
KILLED = "retrospan.killed"
PROCESS_ID = "retrospan.process.id"

#: Attributes of the events: observation and use
ENTITY_TYPE = "retrospan.entity.type"
ENTITY_ID = "retrospan.entity.id"
CHANGES = "retrospan.changes"
FIELD = "retrospan.field"
OBSERVATION_ID = "retrospan.observation.id"
VALID_FROM = "retrospan.valid_from"
SOURCE = "retrospan.source"
CONFIDENCE = "retrospan.confidence"
PRIORITY = "retrospan.priority"
CORRECTION = "retrospan.correction"
REASON = "retrospan.reason"

#: Attributes of the events: decision
DECISION_NAME = "retrospan.decision.name"
DECISION_OPTIONS = "retrospan.decision.options"
DECISION_CHOSEN = "retrospan.decision.chosen"
DECISION_RATIONALE = "retrospan.decision.rationale"
DECISION_CONFIDENCE = "retrospan.decision.confidence"

#: Attributes of the events: checkpoint, derivation, compaction, approval
CHECKPOINT_ID = "retrospan.checkpoint.id"
CHECKPOINT_TRIGGER = "retrospan.checkpoint.trigger"
CHECKPOINT_PARENT = "retrospan.checkpoint.parent"
#: Also the name of the event that holds it, sent beside that of the checkpoint
CHECKPOINT_CONTENT = "retrospan.checkpoint.content"
RELATION = "retrospan.relation"
SUBJECT = "retrospan.subject"
OBJECT = "retrospan.object"
ROLE = "retrospan.role"
COMPACTION_TYPE = "retrospan.compaction.type"
COMPACTION_TOKENS_BEFORE = "retrospan.compaction.tokens_before"
COMPACTION_TOKENS_AFTER = "retrospan.compaction.tokens_after"
APPROVAL_DECISION = "retrospan.approval.decision"
APPROVAL_APPROVER = "retrospan.approval.approver"
APPROVAL_EXPLANATION = "retrospan.approval.explanation"

#: On span links
LINK_TYPE = "retrospan.link.type"
FORK_STEP = "retrospan.fork.step"
FORK_PATCH = "retrospan.fork.patch"

#: On log records that came without a trace: the attributes that theirs is made of
TRACE_MADE_OF = "retrospan.trace.made_of"

#: On resources: how many spans the exporter of this process had lost when it sent this
EXPORTER_LOST = "retrospan.exporter.lost"
