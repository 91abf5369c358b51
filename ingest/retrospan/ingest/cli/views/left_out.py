"""What the instrumentation of a run leaves out, layer by layer, and the switch that turns it on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.incomplete import missing
from retrospan.ingest.cli.client.references import find_run
from retrospan.ingest.cli.client.rows import text_of, texts_of, whole
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.doctor.finding import Finding, ok, warning
from retrospan.schemas.errors import NotFound

How = Callable[..., str]


def left_out(session: Session, typed: str) -> Iterator[Finding]:
    """Yield the findings about the run that was meant; raises NotFound."""
    # Imported here: the dialects, with what they read.
    from retrospan.ingest.interpret.dialects.switches import switch_for

    run_id = find_run(session, typed)
    row = session.one("left_out", run_id=run_id)
    if row is None:
        raise NotFound(f"run {run_id} is not there: it was deleted or is being interpreted again. Try again.")
    scopes = [(name, scope) for name, _, scope in (text.partition("\t") for text in texts_of(row, "scopes"))]

    def how(layer: object) -> str:
        return switch_for(layer, scopes)  # type: ignore[arg-type]  # one of the literals below

    yield _spans(row, run_id, how)
    yield _messages(row, how)
    yield _tokens(row, how)
    yield _tools(row, how)
    if row["has_conversation"]:
        yield ok("conversation", "known")
    else:
        yield warning(
            "conversation", "no id: runs of one conversation cannot be found together", how("conversation")
        )
    yield _state(row, how)
    yield _steps(row, how)


def _spans(row: Row, run_id: str, how: How) -> Finding:
    said = counted(_count(row, "spans"), "span")
    gap = missing({"run_id": run_id, **row})
    if gap is not None:
        reason = text_of(row, "incomplete_because")
        todo = (
            "the process above must export too, to this collector"
            if reason == "missing_parent"
            else how("spans")
        )
        return warning("spans", f"{said}; {gap}", todo)
    if dropped := _count(row, "dropped"):
        return warning(
            "spans",
            f"{said}; the SDK dropped {dropped:,} attributes, events or links of them",
            "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000",
        )
    if not _count(row, "spans"):
        return warning(
            "spans", "none: log records alone tell this run", "have the agent send spans as well, if it can"
        )
    if not _count(row, "around"):
        return warning(
            "spans",
            f"{said}, none around the loop: each request to a model may be a run of its own",
            "a span around the loop with gen_ai.operation.name=invoke_agent and gen_ai.agent.name",
        )
    return ok("spans", said)


def _messages(row: Row, how: How) -> Finding:
    calls, asked, answered = (_count(row, name) for name in ("calls", "without_input", "without_output"))
    if not calls:
        return ok("messages", "no model calls")
    if asked or answered:
        return warning(
            "messages",
            f"{asked:,} of {counted(calls, 'model call')} without what was asked, {answered:,} without the answer",
            how("messages"),
        )
    return ok("messages", f"of {counted(calls, 'model call')}")


def _tokens(row: Row, how: How) -> Finding:
    calls, without = _count(row, "calls"), _count(row, "without_tokens")
    if without:
        return warning(
            "tokens", f"{without:,} of {counted(calls, 'model call')} without counts", how("tokens")
        )
    return ok("tokens", f"of {counted(calls, 'model call')}")


def _tools(row: Row, how: How) -> Finding:
    tools, without, unseen = (_count(row, name) for name in ("tools", "without_result", "without_span"))
    if not tools:
        return ok("tools", "no tool calls")
    if without:
        return warning(
            "tools", f"{without:,} of {counted(tools, 'tool call')} without a result", how("results")
        )
    if unseen:
        return warning(
            "tools",
            f"{unseen:,} of {counted(tools, 'tool call')} known from messages only, without timing and failure",
            how("tools"),
        )
    return ok("tools", f"results of {counted(tools, 'tool call')}")


def _state(row: Row, how: How) -> Finding:
    if known := _count(row, "with_state"):
        return ok("state", f"around {known:,} of {counted(_count(row, 'steps'), 'step')}")
    return warning("state", "not sent; the messages are all that is known of it", how("state"))


def _steps(row: Row, how: How) -> Finding:
    if found := _count(row, "structured"):
        return ok(
            "steps", f"{found:,} of {counted(_count(row, 'steps'), 'step')} with a node or a step of the task"
        )
    return warning(
        "steps", "no nodes and no steps of the task: only calls, one after the other", how("steps")
    )


def _count(row: Row, name: str) -> int:
    return whole(row, name) or 0
