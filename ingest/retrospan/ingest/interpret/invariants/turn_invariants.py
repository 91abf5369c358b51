"""Invariants of turns: a run is one turn of its user, unless a trace holds more."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.interpret.invariants.assembled_run import AROUND, AssembledRun, Prompt
from retrospan.ingest.interpret.messages.message import parts_of, text_of
from retrospan.ingest.interpret.spans.parse_issues import ParseIssue, issue


def later_turns(run: AssembledRun) -> Iterator[ParseIssue]:
    """Yield what a user said after an answer that asked for nothing more, where no agent or workflow is around the run.

    It may be the next turn of a conversation that is one trace, or what the program itself says to go on: from the spans
    this cannot be told apart, and the run stays one.
    """
    if any(root.operation in AROUND for root in run.tree.roots()):
        return
    for prompt in run.prompts:
        said = _said_after_answer(prompt)
        if said:
            reason = f"said after an answer, before model call {prompt.call.ordinal}: it may be another turn of the user"
            yield issue(prompt.call.span.sent.span_id, "input", said, reason)
            return


def _said_after_answer(prompt: Prompt) -> str:
    """Return the last words of a user in a prompt that follow an answer in text which asked for no tool, '' for none."""
    answer = prompt.after.span.output if prompt.after is not None else []
    if not any(map(text_of, answer)) or any(parts_of(message, "tool_call") for message in answer):
        return ""
    last = prompt.new[-1] if prompt.new else None
    return text_of(last) if last is not None and last["role"] == "user" else ""
