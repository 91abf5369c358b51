"""What must hold in every run that is read rightly. Where it does not, the reading is in doubt, and says so.

A breach does not tell which side is wrong: its reason names both. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from retrospan.ingest.interpret.assembly.act_invariants import (
    answers_without_call,
    finish_reasons,
    ids_of_executions,
    namesakes_of_calls,
    prompts_without_call,
    requests_in_one,
    told_as_several,
    unasked_executions,
    unread_answers,
)
from retrospan.ingest.interpret.assembly.assembled_run import AssembledRun
from retrospan.ingest.interpret.assembly.ending_invariants import (
    calls_at_the_end,
    failures_as_results,
    forgotten_calls,
    refused_results,
    unanswered_ends,
)
from retrospan.ingest.interpret.assembly.gap_invariants import (
    agents_without_models,
    calls_without_end,
    echoing_runs,
    gaps_between_calls,
)
from retrospan.ingest.interpret.assembly.prompt_invariants import (
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
from retrospan.ingest.interpret.assembly.repetition_invariants import answers_from_elsewhere, answers_retold
from retrospan.ingest.interpret.assembly.run_invariants import (
    agent_names,
    failed_agents,
    other_answers,
    request_models,
    returned_answers,
)
from retrospan.ingest.interpret.assembly.token_invariants import token_sums, totals_of_calls, unread_tokens
from retrospan.ingest.interpret.assembly.turn_invariants import later_turns
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue

Invariant = Callable[[AssembledRun], Iterator[ParseIssue]]

#: Each yields its breaches in a run.
INVARIANTS: tuple[Invariant, ...] = (
    finish_reasons,
    orphaned_results,
    results_without_call,
    shuffled_results,
    results_from_elsewhere,
    untold_results,
    unknown_speakers,
    bare_prompts,
    answers_in_prompts,
    answers_retold,
    answers_from_elsewhere,
    printed_objects,
    unread_answers,
    answers_without_call,
    unasked_executions,
    ids_of_executions,
    namesakes_of_calls,
    prompts_without_call,
    requests_in_one,
    told_as_several,
    token_sums,
    totals_of_calls,
    unread_tokens,
    failed_agents,
    returned_answers,
    other_answers,
    request_models,
    agent_names,
    gaps_between_calls,
    calls_without_end,
    agents_without_models,
    echoing_runs,
    calls_at_the_end,
    failures_as_results,
    forgotten_calls,
    refused_results,
    unanswered_ends,
    later_turns,
)


def read_doubts(run: AssembledRun) -> list[ParseIssue]:
    """Return the breaches of all invariants, each once."""
    return [*dict.fromkeys(breach for invariant in INVARIANTS for breach in invariant(run))]
