"""The meaning of one run: spans in, canonical facts out. Pure: the same spans give the same facts in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from retrospan.ingest.interpret.calls.calls import Calls
from retrospan.ingest.interpret.calls.invocations import read_invocations
from retrospan.ingest.interpret.calls.judging import answering_calls, judging_spans
from retrospan.ingest.interpret.dialects import DIALECTS, dialect_of
from retrospan.ingest.interpret.dialects.dialect import Dialect
from retrospan.ingest.interpret.dialects.vocabulary import EVERY_FAMILY
from retrospan.ingest.interpret.duplicates.answer_pieces import take_out_pieces
from retrospan.ingest.interpret.grouping.separate_conversations import separate_conversations
from retrospan.ingest.interpret.invariants.assembled_run import AssembledRun
from retrospan.ingest.interpret.invariants.invariants import read_doubts
from retrospan.ingest.interpret.lineage.lineage import read_lineage
from retrospan.ingest.interpret.lineage.provenance import Edge
from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.normalize.acts_in_records import complete_from_records
from retrospan.ingest.interpret.normalize.counted_calls import counted_calls
from retrospan.ingest.interpret.normalize.failed_kinds import failed_kinds, misnamed_requests
from retrospan.ingest.interpret.normalize.kept_readings import SpanReader
from retrospan.ingest.interpret.normalize.kind_evidence import kind_keys, kind_of
from retrospan.ingest.interpret.normalize.named_executions import named_executions
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.stray_answers import told_by_strays
from retrospan.ingest.interpret.normalize.told_in_records import handed_down
from retrospan.ingest.interpret.normalize.unnamed_runs import read_unnamed
from retrospan.ingest.interpret.outcome.agents import Agent, read_agents
from retrospan.ingest.interpret.outcome.attempts import Attempt, read_attempts
from retrospan.ingest.interpret.outcome.failures import Failure, read_failures
from retrospan.ingest.interpret.outcome.run_outcome import (
    find_answer,
    find_gap,
    find_input,
    find_returned,
    is_resumed,
    outcome_of,
)
from retrospan.ingest.interpret.pairing.pairing import read_calls
from retrospan.ingest.interpret.prompts.fields_in_texts import open_fields
from retrospan.ingest.interpret.prompts.history import History
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, ParseIssues
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.vocabulary import Vocabulary
from retrospan.ingest.interpret.stated.statements import Statements, read_statements
from retrospan.ingest.interpret.steps.context_use import ContextUse, read_context_use
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.steps.states import Change, States, read_changes
from retrospan.ingest.interpret.steps.steps import read_steps
from retrospan.ingest.interpret.steps.values import Values
from retrospan.ingest.interpret.tree.borrowed_errors import clear_borrowed_errors
from retrospan.ingest.interpret.tree.clocks import set_clocks
from retrospan.ingest.interpret.tree.context import inherit
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.answered_ids import take_answered_ids
from retrospan.ingest.interpret.unfolding.answering_agents import find_answering_agents
from retrospan.ingest.interpret.unfolding.answering_steps import find_answering_steps
from retrospan.ingest.interpret.unfolding.answers_in_one import open_answers
from retrospan.ingest.interpret.unfolding.cut_requests import fail_cut_requests
from retrospan.ingest.interpret.unfolding.executions_in_one import split_executions
from retrospan.ingest.interpret.unfolding.qualified_calls import restore_ids
from retrospan.ingest.interpret.unfolding.requests_in_events import open_events
from retrospan.ingest.interpret.unfolding.requests_in_one import open_loops
from retrospan.ingest.interpret.unfolding.steps_around import complete_from_steps
from retrospan.ingest.interpret.unfolding.told_thoughts import join_thoughts
from retrospan.ingest.interpret.unfolding.transcripts import synthesize_calls
from retrospan.ingest.interpret.version import version_with
from retrospan.ingest.rules.model_limits import ModelLimits
from retrospan.ingest.rules.ruleset import NO_RULES, Ruleset
from retrospan.schemas.references import message_ref


@dataclass(slots=True)
class InterpretedRun:
    """Everything known about a run, before it becomes rows."""

    run_id: str
    tree: Tree
    calls: Calls
    steps: list[RunStep]
    values: Values
    changes: list[Change]
    interpreted_by: str
    context: list[ContextUse]
    attempts: list[Attempt]
    failures: list[Failure]
    agents: list[Agent]
    invocations: list[int]  # of each tool call, by number
    outcome: str
    incomplete_because: str | None
    input: str | None
    output: str | None
    answer_ref: str | None
    conversation: str | None
    final_history: list[Message]
    statements: Statements = field(default_factory=Statements)
    edges: list[Edge] = field(default_factory=list)
    problems: list[ParseIssue] = field(default_factory=list)
    stores_history: bool = False  # an API that keeps the history itself was called
    wants_previous_run: bool = False
    used_previous_run: bool = False
    resumes: bool = False  # it was given what a framework goes on with after an interruption
    resumed_run_id: str | None = None
    limits: ModelLimits = field(
        default_factory=ModelLimits
    )  # of the models, where the run does not state them


def read_spans(
    spans: Sequence[Span],
    problems: ParseIssues,
    names: Vocabulary = EVERY_FAMILY,
    dialects: Sequence[Dialect] = DIALECTS,
    reader: SpanReader | None = None,
) -> list[NormalizedSpan]:
    """Return what each span says, by the general rules and then by its dialect.

    Without `dialects`, and with the `names` of OpenTelemetry alone, it is the general rules that read. A `reader` that
    knows some of the spans does not read those again.
    """
    reader = reader or SpanReader()
    ordered = sorted(spans, key=lambda sent: sent.order)
    found = [reader.read(sent, problems, names) for sent in ordered]
    unknown = [span.sent for span in found if span.operation == "other"]
    keys = kind_keys(unknown) if unknown else {}
    for place, span in enumerate(found if keys else ()):
        kind = kind_of(span.sent, keys, reader.growing.texts.value) if span.operation == "other" else None
        if kind is not None:
            found[place] = reader.read(span.sent, problems, names, kind)
    for place in [*misnamed_requests(found)]:
        found[place] = reader.read(found[place].sent, problems, names, "inference")
    for place, kind in [*failed_kinds(found)]:
        found[place] = reader.read(found[place].sent, problems, names, kind)
    for place in [*named_executions(found)]:
        found[place] = reader.read(found[place].sent, problems, names, "tool")
    for place, sent in [*handed_down(found)]:
        found[place] = reader.read(sent, problems, names, found[place].operation)
    for place, kind in [*counted_calls(found)]:
        found[place] = reader.read(found[place].sent, problems, names, kind)
    for place, sent in [*told_by_strays(found)]:
        found[place] = reader.read(sent, problems, names, found[place].operation)
    read_unnamed(found, problems, reader.growing, names)
    complete_from_records(found)
    for span in found:
        dialect = dialect_of(span.sent, dialects)
        if dialect is not None:
            span.dialect = dialect.name
            dialect.refine(span)
    return found


def interpret(
    run_id: str,
    spans: Sequence[NormalizedSpan],
    problems: ParseIssues,
    previous: Sequence[Message] | None,
    rules: Ruleset = NO_RULES,
) -> InterpretedRun:
    """Return the run made of its spans.

    `previous` is the final history of the conversation's previous run, for producers that leave it out; it is read only
    where the run's own messages show that they do. `rules` say which tool calls change which entity.
    """
    # What was read stays as it is: what the run makes of its spans is noted in copies.
    copies = [span.copy() for span in spans]
    clocks = set_clocks(copies)
    tree = Tree(copies)
    _make_acts_of_spans(tree)
    separate = separate_conversations(tree)
    inherit(tree)
    gap = find_gap(tree)
    history = History(previous)
    calls = read_calls(tree, history, gap is not None or any(span.interrupted for span in tree.spans))
    values = Values()
    for call in calls.models:
        call.input_values = values.prompt(call.input, call.ordinal)
        call.output_values = [values.message(message, call.ordinal) for message in call.span.output]
    states = States(tree, values, problems)
    steps = read_steps(tree, calls, states)
    states.assign(steps)
    attempts = read_attempts(steps, values)
    judging = judging_spans(tree, calls.models)
    answering = answering_calls(tree, calls.models, judging) if judging else calls.models
    answer = find_answer(tree, answering)
    said_by = calls.models[answer.call - 1].span if answer is not None else None
    outcome, because = outcome_of(tree, gap, steps, said_by, judging, separate)
    failures = read_failures(tree, calls, steps, attempts, outcome, separate is not None)
    own = answering or calls.models
    last = own[-1] if own else None
    run = InterpretedRun(
        run_id=run_id,
        tree=tree,
        calls=calls,
        steps=steps,
        values=values,
        changes=read_changes(steps, values),
        context=read_context_use(tree, calls.models, values),
        attempts=attempts,
        failures=failures,
        agents=read_agents(tree, calls, steps, failures),
        invocations=read_invocations(tree, calls),
        outcome=outcome,
        incomplete_because=because,
        input=find_input(tree, own),
        output=(answer.text if answer else find_returned(tree, calls)) if outcome != "incomplete" else None,
        answer_ref=message_ref(values.hash(values.message(answer.message, answer.call))) if answer else None,
        conversation=next((span.conversation for span in tree.spans if span.conversation), None),
        final_history=[*last.input, *last.span.output] if last else [],
        stores_history=any(call.span.stores_history for call in calls.models),
        wants_previous_run=history.wants_previous_run,
        used_previous_run=history.used_previous_run,
        resumes=is_resumed(tree),
        interpreted_by=version_with(rules),
        limits=rules.limits,
    )
    run.statements = read_statements(run_id, tree, calls, steps, run.context, values, problems, rules)
    run.edges = read_lineage(run_id, tree, steps, values, run.statements.edges)
    assembled = AssembledRun(tree, calls, run.context, outcome, answer)
    run.problems = [*problems.found, *clocks, *read_doubts(assembled)]
    if separate is not None:
        run.conversation = run.input = run.output = run.answer_ref = None
        run.problems += separate.problems()
    if run.input and not any(call.input for call in calls.models):
        # No prompt tells what was asked: it is a message of the run all the same, and found as one.
        values.message({"role": "user", "parts": [{"type": "text", "content": run.input}]})
    return run


def _make_acts_of_spans(tree: Tree) -> None:
    """Let each span of the tree be one act: what is told twice, in pieces, together or not by a span of its own is put
    right, in this order.
    """
    take_out_pieces(tree)
    split_executions(tree)
    restore_ids(tree)
    take_answered_ids(tree)
    open_events(tree)
    open_fields(tree)
    open_answers(tree)
    open_loops(tree)
    synthesize_calls(tree)
    find_answering_agents(tree)
    join_thoughts(tree)
    clear_borrowed_errors(tree)
    fail_cut_requests(tree)
    complete_from_steps(tree)
    find_answering_steps(tree)
