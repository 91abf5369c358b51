"""The questions behind `bundle`: what is read of one run, by its key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import cast, get_args

from retrospan.ingest.bundle.record import record_of
from retrospan.ingest.bundle.rows import BundleRows, Switch
from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.session import Asked, Session
from retrospan.ingest.row_values import texts_of, whole
from retrospan.schemas.bundle.form import Json, RunRecord
from retrospan.schemas.errors import NotFound

#: Rows of interpretation problems that are looked at: a reason for each call that has one.
_PROBLEMS = 10_000
#: Model calls that are asked for at once: each brings its whole history.
_AT_ONCE = 32
#: Traces whose spans are asked for: their ids travel in the address of a statement.
_MOST_TRACES = 200


def questions_of(run_id: str, trace_ids: Sequence[str]) -> list[Asked]:
    """Return the questions that are asked about a run of these traces, in the order of `BundleRows`."""
    return [
        ("bundle_run", {"run_id": run_id}),
        ("bundle_model_calls", {"run_id": run_id, "first": 1, "last": 4_294_967_295}),
        ("bundle_tool_calls", {"run_id": run_id}),
        ("bundle_spans", {"run_id": run_id, "trace_ids": trace_ids}),
        ("bundle_states", {"run_id": run_id}),
        ("bundle_checkpoints", {"run_id": run_id}),
        ("bundle_problems", {"run_id": run_id, "rows": _PROBLEMS}),
        ("bundle_draws", {"run_id": run_id, "trace_ids": trace_ids}),
    ]


def read_run(session: Session, run_id: str, *, with_checkpoints: bool = False) -> tuple[RunRecord, str]:
    """Return a run with all of its calls, and the version of the interpretation; what its checkpoints hold only on request. Raises NotFound."""
    about = session.one("bundle_run", run_id=run_id)
    if about is None:
        raise _not_there(run_id)
    _, _, *rest = questions_of(run_id, texts_of(about, "trace_ids")[:_MOST_TRACES])
    models = _model_calls(session, run_id, whole(about, "model_calls") or 0)
    tools, spans, states, checkpoints, problems, draws = (
        session.ask(question, **parameters) for question, parameters in rest
    )
    if (len(models), len(tools)) != (about["model_calls"], about["tool_calls"]):
        raise _not_there(run_id)
    rows = BundleRows(
        run=about,
        model_calls=models,
        tool_calls=tools,
        spans=spans,
        states=states,
        checkpoints=checkpoints,
        problems=problems,
        draws=draws,
    )
    found = record_of(rows, switch_of(texts_of(about, "dialects")))
    if with_checkpoints:
        found = replace(found, checkpoint_records=_checkpoint_records(session, run_id))
    return found, str(about["interpreted_by"])


def _checkpoint_records(session: Session, run_id: str) -> tuple[dict[str, Json], ...]:
    return tuple(
        {name: str(row[name]) for name in ("checkpoint_id", "content", "redacted")}
        for row in session.ask("checkpoint_contents", run_id=run_id)
    )


def _model_calls(session: Session, run_id: str, calls: int) -> list[Row]:
    """Return the model calls, some at a time. Messages that several of them read are kept once."""
    found = list[Row]()
    for first in range(1, calls + 1, _AT_ONCE):
        found += session.ask("bundle_model_calls", run_id=run_id, first=first, last=first + _AT_ONCE - 1)
    return found


def _not_there(run_id: str) -> NotFound:
    return NotFound(f"run {run_id} is not there: it was deleted or is being interpreted again. Try again.")


def switch_of(dialects: Sequence[str]) -> Switch:
    """Return what says how a layer is recorded by the instrumentation of a run."""

    @lru_cache
    def how(layer: str) -> str:
        # Imported here: the dialects, with what they read; most runs lack nothing.
        from retrospan.ingest.interpret.dialects.dialect import Layer
        from retrospan.ingest.interpret.dialects.switches import switch_for

        assert layer in get_args(Layer)
        return switch_for(cast(Layer, layer), [(name, "") for name in dialects])

    return how
