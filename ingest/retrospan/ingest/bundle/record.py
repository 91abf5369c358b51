"""A run of a bundle, made of the rows of the views."""

from __future__ import annotations

from collections.abc import Mapping

from retrospan.ingest.bundle.model_calls import model_calls_of
from retrospan.ingest.bundle.rows import BundleRows, Row, Switch, json_of
from retrospan.ingest.bundle.tool_calls import tool_calls_of
from retrospan.ingest.row_values import text_of, texts_of, whole
from retrospan.schemas.bundle.canonical import with_keys
from retrospan.schemas.bundle.form import CheckpointAt, ModelCall, RunRecord, StateAt, ToolCall


def record_of(rows: BundleRows, switch: Switch) -> RunRecord:
    """Return the run that the rows tell of. `switch` says how to record a layer that is missing."""
    run = rows.run
    return RunRecord(
        run_id=str(run["run_id"]),
        service_name=text_of(run, "service_name"),
        service_version=text_of(run, "service_version"),
        agent_name=text_of(run, "agent_name"),
        agent_version=text_of(run, "agent_version"),
        conversation_id=text_of(run, "conversation_id"),
        kind=text_of(run, "run_kind"),
        started_at=whole(run, "started_ns"),
        ended_at=whole(run, "ended_ns"),
        outcome=text_of(run, "outcome"),
        incomplete_because=text_of(run, "incomplete_because"),
        parent_run_id=text_of(run, "parent_run_id"),
        parent_link=text_of(run, "parent_link"),
        fork_step=whole(run, "fork_step"),
        patch=json_of(run, "patch"),
        question=text_of(run, "input"),
        answer=text_of(run, "output"),
        dialects=tuple(texts_of(run, "dialects")),
        calls=with_keys(_in_order(rows, switch)),
        states=tuple(_state(row) for row in rows.states if row["state_before"] or row["state_after"]),
        checkpoints=tuple(_checkpoint(row) for row in rows.checkpoints),
        draws=tuple(each for row in rows.draws if (each := _object(json_of(row, "draws"))) is not None),
    )


def _in_order(rows: BundleRows, switch: Switch) -> list[ModelCall | ToolCall]:
    """Return the calls numbered in the order of their steps.

    A tool call without a step of its own, known from messages only, stands after the model call that asked for it.
    """
    steps = {whole(row, "ordinal"): whole(row, "step") or 0 for row in rows.model_calls}
    places = [((whole(row, "step") or 0, 0, 0), "model", row) for row in rows.model_calls]
    for row in rows.tool_calls:
        step = whole(row, "step")
        asker = steps.get(whole(row, "asked_by"), max(steps.values(), default=0))
        place = (asker, 1, whole(row, "ordinal") or 0) if step is None else (step, 0, 0)
        places.append((place, "tool", row))
    places.sort(key=lambda each: each[0])
    numbers = {(kind, whole(row, "ordinal")): n for n, (_, kind, row) in enumerate(places, 1)}
    models = model_calls_of(
        rows, switch, {ordinal: n for (kind, ordinal), n in numbers.items() if kind == "model"}
    )
    tools = tool_calls_of(rows, switch, numbers)
    return sorted([*models, *tools], key=lambda call: call.n)


def _state(row: Row) -> StateAt:
    return StateAt(
        step=whole(row, "step") or 0,
        source=text_of(row, "state_source"),
        before=_object(json_of(row, "state_before")),
        after=_object(json_of(row, "state_after")),
    )


def _object(value: object) -> Mapping[str, object] | None:
    return value if isinstance(value, Mapping) else None


def _checkpoint(row: Row) -> CheckpointAt:
    return CheckpointAt(
        checkpoint_id=str(row["checkpoint_id"]),
        parent_id=text_of(row, "parent_id"),
        step=whole(row, "step"),
        trigger=text_of(row, "trigger"),
        at=whole(row, "at_ns"),
    )
