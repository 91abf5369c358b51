"""The meaning of one run: spans in, canonical facts out. Pure: the same spans give the same facts in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from retrospan.ingest.interpret.assembly.attempts import Attempt, read_attempts
from retrospan.ingest.interpret.assembly.calls import Calls, read_calls
from retrospan.ingest.interpret.assembly.context import inherit
from retrospan.ingest.interpret.assembly.context_use import ContextUse, read_context_use
from retrospan.ingest.interpret.assembly.failures import Failure, read_failures
from retrospan.ingest.interpret.assembly.history import History
from retrospan.ingest.interpret.assembly.run_outcome import Gap, find_answer, find_gap, find_input, outcome_of
from retrospan.ingest.interpret.assembly.states import Change, States, read_changes
from retrospan.ingest.interpret.assembly.steps import Step, read_steps
from retrospan.ingest.interpret.assembly.transcripts import synthesize_calls
from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.assembly.values import Values
from retrospan.ingest.interpret.dialects import dialect_of
from retrospan.ingest.interpret.lineage.lineage import read_lineage
from retrospan.ingest.interpret.lineage.provenance import Edge, read_edges
from retrospan.ingest.interpret.normalize.general import read_span
from retrospan.ingest.interpret.normalize.message_cache import PrefixCache
from retrospan.ingest.interpret.normalize.messages import Message, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.provider_payloads import parse_question
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, ParseIssues
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.stated.statements import Statements, read_statements
from retrospan.ingest.rules.ruleset import NO_RULES, Ruleset
from retrospan.schemas.references import message_ref

#: Changes whenever the same spans may give other rows: rows say which version read them.
VERSION = "4"


def version_with(rules: Ruleset) -> str:
    """Return what rows call the version that read them: the interpretation's, and the hash of the mutation rules."""
    return f"{VERSION}+rules.{rules.hash}" if rules.hash else VERSION


@dataclass(slots=True)
class Run:
    """Everything known about a run, before it becomes rows."""

    run_id: str
    tree: Tree
    calls: Calls
    steps: list[Step]
    values: Values
    changes: list[Change]
    edges: list[Edge]
    interpreted_by: str
    context: list[ContextUse]
    attempts: list[Attempt]
    failures: list[Failure]
    statements: Statements
    problems: list[ParseIssue]
    outcome: str
    incomplete_because: str | None
    input: str | None
    output: str | None
    answer_ref: str | None
    conversation: str | None
    final_history: list[Message] = field(default_factory=list)
    stores_history: bool = False  # an API that keeps the history itself was called
    wants_previous_run: bool = False
    used_previous_run: bool = False
    resumes: bool = False  # it was given what a framework goes on with after an interruption
    resumed_run_id: str | None = None


def read_spans(spans: Sequence[Span], problems: ParseIssues) -> list[NormalizedSpan]:
    """Return what each span says, by the general rules and then by its dialect."""
    readings = []
    growing = PrefixCache()
    for span in sorted(spans, key=lambda span: span.order):
        dialect = dialect_of(span)
        reading = read_span(span, problems, growing)
        if dialect is not None:
            reading.dialect = dialect.name
            dialect.refine(reading)
        readings.append(reading)
    return readings


def is_run(readings: Sequence[NormalizedSpan]) -> bool:
    """Tell whether there is at least one GenAI operation, or a span that tells of state: other traces hold no run."""
    return any(reading.is_work for reading in readings)


def interpret(
    run_id: str,
    readings: Sequence[NormalizedSpan],
    problems: ParseIssues,
    previous: Sequence[Message] | None,
    rules: Ruleset = NO_RULES,
) -> Run:
    """Return the run made of the readings of its spans.

    `previous` is the final history of the conversation's previous run, for producers that leave it out; it is read only
    where the run's own messages show that they do. `rules` say which tool calls change which entity.
    """
    tree = Tree(readings)
    synthesize_calls(tree)
    inherit(tree)
    gap = find_gap(tree)
    history = History(previous)
    values = Values()
    calls = read_calls(tree, history, gap.because is not None or any(r.interrupted for r in tree.readings))
    for call in calls.models:
        call.given = [values.message(message, call.ordinal) for message in call.input]
        call.said = [values.message(message, call.ordinal) for message in call.reading.output]
    states = States(tree, values, problems)
    steps = read_steps(tree, calls, states)
    states.assign(steps)
    return _finish(run_id, tree, calls, steps, values, problems, history, gap, rules)


def _finish(
    run_id: str,
    tree: Tree,
    calls: Calls,
    steps: list[Step],
    values: Values,
    problems: ParseIssues,
    history: History,
    gap: Gap,
    rules: Ruleset,
) -> Run:
    answer = find_answer(tree, calls)
    outcome, because = outcome_of(tree, gap, steps, answer[1] if answer else None)
    last = calls.models[-1] if calls.models else None
    attempts = read_attempts(steps, values)
    statements = read_statements(run_id, tree, calls, steps, problems, rules)
    edges = [*read_edges(run_id, steps, values), *statements.edges]
    return Run(
        run_id=run_id,
        interpreted_by=version_with(rules),
        tree=tree,
        calls=calls,
        steps=steps,
        values=values,
        changes=read_changes(steps, values),
        edges=read_lineage(run_id, tree, steps, values, edges),
        context=read_context_use(tree, calls.models, values),
        attempts=attempts,
        failures=read_failures(tree, calls, steps, attempts, outcome),
        statements=statements,
        problems=list(problems.found),
        outcome=outcome,
        incomplete_because=because,
        input=find_input(tree, calls, _root_messages(tree)),
        output=text_of(answer[1]) if answer and outcome != "incomplete" else None,
        answer_ref=message_ref(values.hash(values.message(answer[1], answer[0]))) if answer else None,
        conversation=next((r.conversation for r in tree.readings if r.conversation), None),
        final_history=[*last.input, *last.reading.output] if last else [],
        stores_history=any(call.reading.stores_history for call in calls.models),
        wants_previous_run=history.wants_previous_run,
        used_previous_run=history.used_previous_run,
        resumes=any(_is_resume(reading.framework_input) for reading in tree.readings),
    )


def _is_resume(given: object) -> bool:
    """Tell whether a graph was given LangGraph's `Command(resume=…)`, as it is or as the only input."""
    if isinstance(given, dict) and set(given) == {"input"}:
        given = given["input"]
    return (
        isinstance(given, dict)
        and given.keys() == {"graph", "update", "resume", "goto"}
        and given["resume"] is not None
    )


def _root_messages(tree: Tree) -> list[Message]:
    """Return what the root agent or workflow was given, where it says so; else the first messages around the calls."""
    for root in tree.roots():
        if root.operation in ("agent", "workflow"):
            asked = root.input or parse_question(root.framework_input)
            if asked:
                return asked
    around = (reading.input for reading in tree.readings if reading.operation not in ("inference", "tool"))
    return next((messages for messages in around if messages), [])
