"""Why an answer is empty: nothing stored at all, or nothing under these conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.rows import moment_of, text_of, texts_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.ingest.cli.terminal.text import counted, nearest, safe

#: A `since` that leaves nothing out.
OPEN = Moment(0).clickhouse()


def since_text(session: Session, since: Moment | None) -> str:
    """` since 2026-11-21 14:00:00.000 +01:00`, or nothing."""
    return "" if since is None else f" since {session.zone.told(since)}"


def no_runs_yet(session: Session) -> str:
    """Return what to say when the warehouse holds no run at all."""
    health = session.warehouse.health()
    said = nothing_yet(session.warehouse.address, health)
    if not _number(health, "durable_sequence") or being_read(health):
        return said
    if loose := loose_records(session.ask("records_of_no_trace")):
        said += f"\n{loose}"
    return said


def loose_records(rows: Sequence[Row]) -> str:
    """Return what to say of log records that name no trace, by service (`records_of_no_trace`); "" where there are none."""
    if not rows:
        return ""
    number = sum(whole(row, "records") or 0 for row in rows)
    names = [safe(name) for row in rows if (name := text_of(row, "service_name"))]
    of_whom = f" of {', '.join(names)}" if names else ""
    name, make = ("names", "makes") if number == 1 else ("name", "make")
    return (
        f"{counted(number, 'log record')}{of_whom} {name} no trace and {make} no run: have the agent send spans as well\n"
        "(docs/instrumentation.md says how)."
    )


def nothing_yet(address: str, health: Mapping[str, object]) -> str:
    """Return why there is no run at the address, from what its `/health` says."""
    received, rejects = _number(health, "durable_sequence"), _number(health, "rejects")
    said = f"No runs yet in {address}"
    if reading := being_read(health):
        return f"{said}: {reading}"
    if not received:
        what = "" if received is None else ": nothing was received"
        return (
            f"{said}{what}. Send OTLP to the ports its ready line names (4317 gRPC, 4318 HTTP unless chosen "
            "otherwise),\nor see what runs look like: retrospan demo"
        )
    refused = f", {counted(rejects, 'request')} could not be read (view rejects)" if rejects else ""
    # An evaluation, say, may come long before the run that it judges.
    is_records = _number(health, "stored_log_records") and not _number(health, "stored_spans")
    named, view = ("event_name", "logs") if is_records else ("name", "spans")
    return (
        f"{said}: {counted(received, 'request')} arrived{refused}, but no trace with a model or tool call.\n"
        f'What came: retrospan sql "SELECT service_name, {named}, count() FROM {view} GROUP BY ALL"'
    )


def being_read(health: Mapping[str, object]) -> str | None:
    """Return what has arrived and cannot be asked about yet, or None."""
    records, traces = _number(health, "load_lag_records"), _number(health, "interpretation_lag_traces")
    waiting = [counted(records, "request")] if records else []
    waiting += [counted(traces, "trace")] if traces else []
    are = "are" if len(waiting) > 1 or (records or 0) + (traces or 0) > 1 else "is"
    return (
        f"{' and '.join(waiting)} {are} still being interpreted; try again in a moment." if waiting else None
    )


def _number(health: Mapping[str, object], key: str) -> int | None:
    value = health.get(key)
    return value if isinstance(value, int) else None


def no_runs_match(
    session: Session, counts: Row, since: Moment | None, outcome: str, agent: str, more: Sequence[str] = ()
) -> str:
    """Return what to say when no run meets the conditions of `runs`; `more` are those beyond outcome and agent."""
    total = whole(counts, "total") or 0
    if not total:
        return no_runs_yet(session)
    conditions = [f"outcome {outcome}"] if outcome else []
    conditions += [f"agent {agent}"] if agent else []
    conditions += more
    what = f" with {' and '.join(conditions)}" if conditions else ""
    said = f"No runs{what}{since_text(session, since)} among {counted(total, 'run')}."
    agents = sorted(name for name in texts_of(counts, "agents") if name)
    if agent and agent not in agents:
        meant = nearest(agent, agents)
        known = (
            f" Agents: {', '.join(map(safe, agents[:8]))}{', …' if len(agents) > 8 else ''}."
            if agents
            else ""
        )
        said += f" Did you mean --agent {safe(meant)}?" if meant else known
    elif since is not None:
        said += f" The newest started {session.zone.told(moment_of(counts, 'newest'))}."
    return said
