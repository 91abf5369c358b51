"""Rows without content: for what could not be read, and for what is no longer a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.version import VERSION, version_with
from retrospan.ingest.rules.ruleset import NO_RULES, Ruleset
from retrospan.schemas import canonical
from retrospan.schemas.sequences import Newest
from retrospan.schemas.traces import TraceRow


def broken_run(tenant: str, run_id: str, generation: int, spans: Sequence[Span], trace: str) -> Rows:
    """Return the run's row and its problem: the traceback, under `interpretation_problems`."""
    rows = Rows()
    rows.problems = [
        canonical.ProblemRow(
            tenant=tenant, run_id=run_id, generation=generation, span_id=None, field="", raw="", reason=trace
        )
    ]
    rows.runs = [
        canonical.RunRow(
            tenant=tenant,
            run_id=run_id,
            generation=generation,
            deleted=False,
            origin_run_id=run_id,
            parent_run_id=None,
            parent_link=None,
            conversation_id=None,
            run_kind="production",
            agent_name=None,
            agent_version=None,
            service_name=None,
            service_version=None,
            environment=None,
            started_at=min((span.started_at for span in spans), default=0),
            ended_at=None,
            duration_ms=None,
            outcome="incomplete",
            incomplete_because="not_interpreted",
            input=None,
            output=None,
            input_hash=None,
            answer_ref=None,
            steps=0,
            model_calls=0,
            tool_calls=0,
            errors=0,
            input_tokens=None,
            output_tokens=None,
            trace_ids=sorted({span.trace_id for span in spans}) or [run_id],
            dialects=[],
            flagged=False,
            newest_ended_at=max((span.ended_at for span in spans), default=0),
            arrived_at=max((span.arrived_at for span in spans), default=0),
            through_sequence=max((span.sequence for span in spans), default=0),
            final_history=[],
            final_history_hash="",
            history_run_id=None,
            interpreted_by=VERSION,
            problems=1,
        )
    ]
    return rows


def broken_trace(
    tenant: str, newest: Mapping[str, Newest], generation: int, trace: str, rules: Ruleset = NO_RULES
) -> Rows:
    """Return the rows of a trace that could not even be read or written: marked as read, with the reason."""
    ((trace_id, through),) = newest.items()
    rows = broken_run(tenant, trace_id, generation, [], trace)
    rows.traces = [
        TraceRow(
            tenant=tenant,
            trace_id=trace_id,
            run_ids=[trace_id],
            joins="",
            claims=[],
            generation=generation,
            through_sequence=max(through, default=0),
            interpreted_by=version_with(rules),
            through=list(through),
        )
    ]
    return rows


def deleted_run(tenant: str, run_id: str, generation: int) -> Rows:
    """Return the row that hides a run: its spans belong to other runs now."""
    rows = broken_run(tenant, run_id, generation, [], "")
    rows.problems = []
    (row,) = rows.runs
    row.deleted, row.incomplete_because, row.problems = True, None, 0
    return rows
