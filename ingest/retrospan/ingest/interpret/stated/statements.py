"""Everything that the agents of a run state themselves, read in one pass over its spans. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from retrospan.ingest.interpret.calls.calls import Calls
from retrospan.ingest.interpret.lineage.provenance import Edge
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.stated.compactions import Compaction, read_compaction, read_flagged
from retrospan.ingest.interpret.stated.edges import derived_edge, observed_edges, used_edge
from retrospan.ingest.interpret.stated.effects import StatedEffect, read_effects
from retrospan.ingest.interpret.stated.evaluations import Evaluation, read_evaluations
from retrospan.ingest.interpret.stated.events import StatedEvent, Whereabouts, read_events
from retrospan.ingest.interpret.stated.memories import read_memories
from retrospan.ingest.interpret.stated.mutations import read_mutations
from retrospan.ingest.interpret.stated.observations import (
    Observation,
    Use,
    read_observation,
    read_use,
    settle,
)
from retrospan.ingest.interpret.stated.records import (
    Approval,
    Checkpoint,
    Decision,
    read_approval,
    read_checkpoint,
    read_decision,
)
from retrospan.ingest.interpret.steps.context_use import ContextUse
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.steps.values import Values
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.schemas import attributes as conventions


@dataclass(slots=True)
class Statements:
    observations: list[Observation] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    effects: list[StatedEffect] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    approvals: list[Approval] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    @property
    def there_are_any(self) -> bool:
        """Whether anything is stated that has rows of its own."""
        return bool(
            self.observations
            or self.uses
            or self.decisions
            or self.effects
            or self.checkpoints
            or self.approvals
            or self.compactions
            or self.evaluations
        )


def read_statements(
    run_id: str,
    tree: Tree,
    calls: Calls,
    steps: list[RunStep],
    context: list[ContextUse],
    values: Values,
    problems: ParseIssues,
    rules: Ruleset,
) -> Statements:
    """Return what the events and attributes of the conventions state, and what memory operations and tool calls do.

    Tool calls are read by the user's mutation rules. What cannot be read is a problem.
    """
    whereabouts = Whereabouts(tree, steps)
    found = Statements()
    for event in read_events(tree, whereabouts, problems):
        _read(event, run_id, calls, found, problems)
    for one in read_memories(steps, problems):
        if isinstance(one, Use):
            found.uses.append(one)
            found.edges.append(used_edge(run_id, one)._replace(evidence="matched"))
        else:
            found.observations.append(one)
    found.observations += read_mutations(calls, steps, rules, problems)
    found.observations = settle(found.observations, problems)
    found.effects = read_effects(tree, calls, whereabouts, problems)
    found.compactions += read_flagged(tree, calls.models, context, whereabouts, found.compactions, problems)
    found.evaluations = read_evaluations(run_id, tree, calls, steps, whereabouts, values, problems)
    found.edges = [*found.edges, *observed_edges(run_id, found.observations)]
    return found


def _read(event: StatedEvent, run_id: str, calls: Calls, found: Statements, problems: ParseIssues) -> None:
    if event.name == conventions.OBSERVATION:
        found.observations += read_observation(event)
    elif event.name == conventions.USE:
        use = read_use(event)
        if use is not None:
            found.uses.append(use)
            found.edges.append(used_edge(run_id, use))
    elif event.name == conventions.DECISION:
        found.decisions.append(read_decision(event))
    elif event.name == conventions.CHECKPOINT:
        checkpoint = read_checkpoint(event)
        found.checkpoints += [checkpoint] if checkpoint else []
    elif event.name == conventions.APPROVAL:
        approval = read_approval(event)
        found.approvals += [approval] if approval else []
    elif event.name == conventions.COMPACTION:
        found.compactions.append(read_compaction(event, calls.models))
    elif event.name == conventions.DERIVATION:
        edge = derived_edge(run_id, event)
        found.edges += [edge] if edge else []
    elif event.name != conventions.CHECKPOINT_CONTENT:  # what a checkpoint holds says nothing of the run
        problems.add(event.span.sent.span_id, event.name, "", "the conventions have no event of this name")
