"""What must hold in every run that is read rightly. Where it does not, the reading is in doubt, and says so.

A breach does not tell which side is wrong: its reason names both. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from retrospan.ingest.interpret.invariants.act_invariants import (
    answers_without_call,
    executions_in_one,
    finish_reasons,
    ids_of_executions,
    namesakes_of_calls,
    prompts_without_call,
    requests_cut,
    requests_in_one,
    told_as_several,
    unasked_executions,
    unread_answers,
)
from retrospan.ingest.interpret.invariants.around_requests import told_around
from retrospan.ingest.interpret.invariants.assembled_run import AssembledRun
from retrospan.ingest.interpret.invariants.ending_invariants import (
    answers_of_no_request,
    calls_at_the_end,
    failed_instrumentations,
    failures_as_results,
    forgotten_calls,
    refused_results,
    results_without_contents,
    unanswered_ends,
)
from retrospan.ingest.interpret.invariants.gap_invariants import (
    agents_without_models,
    calls_in_texts,
    calls_without_end,
    echoing_runs,
    gaps_between_calls,
    inferred_questions,
    refused_elsewhere,
    requests_elsewhere,
)
from retrospan.ingest.interpret.invariants.prompt_invariants import (
    answers_in_prompts,
    bare_prompts,
    orphaned_results,
    printed_objects,
    results_from_elsewhere,
    results_without_call,
    shuffled_results,
    unknown_speakers,
    untold_results,
)
from retrospan.ingest.interpret.invariants.repetition_invariants import answers_from_elsewhere, answers_retold
from retrospan.ingest.interpret.invariants.run_invariants import (
    agent_names,
    failed_agents,
    other_answers,
    request_models,
    returned_answers,
)
from retrospan.ingest.interpret.invariants.served_requests import requests_served
from retrospan.ingest.interpret.invariants.token_invariants import token_sums, totals_of_calls, unread_tokens
from retrospan.ingest.interpret.invariants.turn_invariants import later_turns
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue

Invariant = Callable[[AssembledRun], Iterator[ParseIssue]]

#: What there must be in a run for an invariant to be breached. Most runs lack some of it, and none of those are asked.
_ANY, _NO_MODELS, _FEW_MODELS, _REBUILT = "any", "no models", "few models", "a rebuilt prompt"
_ANSWER, _NO_ANSWER = "an answer", "no answer"
_TOOLS, _SPANLESS, _UNASKED, _ERRORS = (
    "tools",
    "a call without a span",
    "an execution unasked",
    "an error of a tool",
)

#: What each needs, and what yields its breaches in a run.
INVARIANTS: tuple[tuple[str, Invariant], ...] = (
    (_ANY, finish_reasons),
    (_ANY, orphaned_results),
    (_TOOLS, results_without_call),
    (_REBUILT, shuffled_results),
    (_ANY, results_from_elsewhere),
    (_TOOLS, untold_results),
    (_ANY, unknown_speakers),
    (_ANY, bare_prompts),
    (_ANY, answers_in_prompts),
    (_ANY, answers_retold),
    (_TOOLS, answers_from_elsewhere),
    (_ANY, printed_objects),
    (_ANY, unread_answers),
    (_ANY, failed_instrumentations),
    (_NO_MODELS, answers_without_call),
    (_UNASKED, unasked_executions),
    (_TOOLS, ids_of_executions),
    (_SPANLESS, namesakes_of_calls),
    (_NO_MODELS, prompts_without_call),
    (_ANY, requests_in_one),
    (_ANY, told_as_several),
    (_TOOLS, executions_in_one),
    (_ANY, requests_cut),
    (_ANY, token_sums),
    (_ANY, told_around),
    (_ANY, totals_of_calls),
    (_ANY, unread_tokens),
    (_NO_ANSWER, failed_agents),
    (_ANSWER, answers_of_no_request),
    (_ANSWER, returned_answers),
    (_ANSWER, other_answers),
    (_ANY, request_models),
    (_ANY, agent_names),
    (_ANY, gaps_between_calls),
    (_SPANLESS, calls_without_end),
    (_FEW_MODELS, agents_without_models),
    (_ANY, requests_elsewhere),
    (_NO_MODELS, refused_elsewhere),
    (_ANY, calls_in_texts),
    (_ANY, inferred_questions),
    (_NO_MODELS, echoing_runs),
    (_NO_ANSWER, calls_at_the_end),
    (_TOOLS, failures_as_results),
    (_TOOLS, forgotten_calls),
    (_SPANLESS, results_without_contents),
    (_ERRORS, refused_results),
    (_NO_ANSWER, unanswered_ends),
    (_ANY, later_turns),
    (_ANY, requests_served),
)


def read_doubts(run: AssembledRun) -> list[ParseIssue]:
    """Return the breaches of all invariants, each once."""
    there = _there_is(run)
    found: dict[ParseIssue, None] = {}
    for needed, invariant in INVARIANTS:
        if needed in there:
            for issue in invariant(run):
                found[issue] = None
    return [*found]


def _there_is(run: AssembledRun) -> set[str]:
    """Return what there is in a run of what invariants need."""
    models, tools = run.calls.models, run.calls.tools
    there = {_ANY, _NO_ANSWER if run.answer is None else _ANSWER}
    if len(models) < 2:
        there |= {_FEW_MODELS} if models else {_FEW_MODELS, _NO_MODELS}
    if tools:
        there.add(_TOOLS)
    for tool in tools:
        if tool.span is None:
            there.add(_SPANLESS)
        elif tool.asked is None:
            there.add(_UNASKED)
        if tool.status == "error":
            there.add(_ERRORS)
    for call in models:
        if call.history == "rebuilt":
            there.add(_REBUILT)
    return there
