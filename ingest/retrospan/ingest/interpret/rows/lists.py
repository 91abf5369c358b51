"""The lists of canonical rows, one for each table. Light: who only writes, deletes or counts rows need not load what makes them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from retrospan.schemas import canonical as rows
from retrospan.schemas import stated
from retrospan.schemas.costs import CostRow
from retrospan.schemas.findings import FindingRow
from retrospan.schemas.traces import LogTextRow, SpanRow, TraceRow


@dataclass(slots=True)
class Rows:
    """The canonical rows of some runs, by table, in the order in which they are written: the pointer last."""

    values: list[rows.ValueRow] = field(default_factory=list)
    model_calls: list[rows.ModelCallRow] = field(default_factory=list)
    tool_calls: list[rows.ToolCallRow] = field(default_factory=list)
    steps: list[rows.StepRow] = field(default_factory=list)
    state_changes: list[rows.StateChangeRow] = field(default_factory=list)
    edges: list[rows.EdgeRow] = field(default_factory=list)
    failures: list[rows.FailureRow] = field(default_factory=list)
    attempts: list[rows.AttemptRow] = field(default_factory=list)
    agents: list[rows.AgentRow] = field(default_factory=list)
    costs: list[CostRow] = field(default_factory=list)
    loops: list[rows.LoopRow] = field(default_factory=list)
    habits: list[rows.HabitRow] = field(default_factory=list)
    findings: list[FindingRow] = field(default_factory=list)
    crossings: list[rows.CrossingRow] = field(default_factory=list)
    observations: list[stated.ObservationRow] = field(default_factory=list)
    uses: list[stated.UseRow] = field(default_factory=list)
    decisions: list[stated.DecisionRow] = field(default_factory=list)
    effects: list[stated.EffectRow] = field(default_factory=list)
    checkpoints: list[stated.CheckpointRow] = field(default_factory=list)
    approvals: list[stated.ApprovalRow] = field(default_factory=list)
    compactions: list[stated.CompactionRow] = field(default_factory=list)
    evaluations: list[stated.EvaluationRow] = field(default_factory=list)
    log_texts: list[LogTextRow] = field(default_factory=list)
    problems: list[rows.ProblemRow] = field(default_factory=list)
    spans: list[SpanRow] = field(default_factory=list)
    traces: list[TraceRow] = field(default_factory=list)
    runs: list[rows.RunRow] = field(default_factory=list)


LISTS = tuple(each.name for each in fields(Rows))

#: Row list → table, the pointers last.
TABLES = {name: f"canon_{name}" for name in LISTS}

#: What tells readers which rows count, written when all others are there, in this order.
POINTERS = (TABLES["traces"], TABLES["runs"])
