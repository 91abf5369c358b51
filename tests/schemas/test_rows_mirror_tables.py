"""A table and its dataclass are one thing: same names, same order."""

from __future__ import annotations

from dataclasses import fields

import pytest

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas import canonical, costs, findings, raw, stated, traces

PAIRS: list[tuple[type, str]] = [
    (raw.RawSpan, "raw_spans"),
    (raw.RawLog, "raw_logs"),
    (traces.TraceRow, "canon_traces"),
    (traces.SpanRow, "canon_spans"),
    (traces.LogTextRow, "canon_log_texts"),
    (canonical.ValueRow, "canon_values"),
    (canonical.ModelCallRow, "canon_model_calls"),
    (canonical.ToolCallRow, "canon_tool_calls"),
    (canonical.StepRow, "canon_steps"),
    (canonical.StateChangeRow, "canon_state_changes"),
    (canonical.EdgeRow, "canon_edges"),
    (canonical.FailureRow, "canon_failures"),
    (canonical.AttemptRow, "canon_attempts"),
    (canonical.AgentRow, "canon_agents"),
    (costs.CostRow, "canon_costs"),
    (canonical.LoopRow, "canon_loops"),
    (canonical.HabitRow, "canon_habits"),
    (findings.FindingRow, "canon_findings"),
    (stated.ObservationRow, "canon_observations"),
    (stated.UseRow, "canon_uses"),
    (stated.DecisionRow, "canon_decisions"),
    (stated.EffectRow, "canon_effects"),
    (stated.CheckpointRow, "canon_checkpoints"),
    (stated.ApprovalRow, "canon_approvals"),
    (stated.CompactionRow, "canon_compactions"),
    (stated.EvaluationRow, "canon_evaluations"),
    (canonical.CrossingRow, "canon_crossings"),
    (canonical.ProblemRow, "canon_problems"),
    (canonical.RunRow, "canon_runs"),
]


@pytest.mark.parametrize(("row", "table"), PAIRS, ids=[table for _, table in PAIRS])
def test_fields_are_the_columns_in_order(store: EmbeddedStore, row: type, table: str) -> None:
    described = store.rows("DESCRIBE TABLE {table:Identifier}", {"table": table})
    # What the engine computes from other columns is nobody's to write or to read as a row.
    stored = [column[0] for column in described if column[2] != "MATERIALIZED"]
    assert [field.name for field in fields(row)] == stored


def test_every_canonical_class_has_its_table() -> None:
    for module in (canonical, stated, traces):
        classes = {name for name in vars(module) if name.endswith("Row")}
        assert classes == {row.__name__ for row, _ in PAIRS if row.__module__ == module.__name__}
