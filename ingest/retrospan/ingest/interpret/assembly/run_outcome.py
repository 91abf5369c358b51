"""How a run ended, and what it was asked and answered."""

from __future__ import annotations

from dataclasses import dataclass

from retrospan.ingest.interpret.assembly.calls import Calls
from retrospan.ingest.interpret.assembly.steps import Step
from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.messages import Message, parts_of, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.provider_payloads import parse_answer


@dataclass(frozen=True, slots=True)
class Gap:
    """Why a run cannot be called complete, or None."""

    because: str | None  # no_root | missing_parent


def find_gap(tree: Tree) -> Gap:
    """Return what is missing from a run.

    A parent in another process, or the single missing parent of one ended agent or workflow span, is a boundary and
    no gap: such a span stands for the root.
    """
    tops = tree.roots()
    missing = tree.missing_parents()
    gaps = {
        parent
        for parent, children in missing.items()
        if not all(child.span.has_remote_parent for child in children)
        and not (len(missing) == 1 and len(children) == 1 and _is_boundary(children[0]))
    }
    if not gaps:
        return Gap(None)
    has_root = any(not top.span.parent_span_id or top.span.has_remote_parent for top in tops)
    return Gap("missing_parent" if has_root else "no_root")


def _is_boundary(reading: NormalizedSpan) -> bool:
    return reading.operation in ("agent", "workflow") and bool(reading.span.ended_at)


def outcome_of(tree: Tree, gap: Gap, steps: list[Step], answer: Message | None) -> tuple[str, str | None]:
    """Return outcome and the reason of an incomplete one."""
    if gap.because:
        return "incomplete", gap.because
    if any(reading.interrupted for reading in tree.readings):
        return "incomplete", "interrupted"
    if any(top.failed for top in tree.roots()):
        return "error", None
    if steps and steps[-1].status == "error" and answer is None:
        return "error", None
    return "ok", None


def find_answer(tree: Tree, calls: Calls) -> tuple[int, Message] | None:
    """Return (model call, message) of the run's final answer: the last call's text, when it asks for no tool.

    Where the last call only asks for a tool that ends the run, what the root returned is the answer.
    """
    if not calls.models:
        return None
    last = calls.models[-1]
    for message in reversed(last.reading.output):
        if text_of(message) and not parts_of(message, "tool_call"):
            return last.ordinal, message
    for root in tree.roots():
        if root.operation in ("agent", "workflow") and not root.failed:
            said = root.output or parse_answer(root.framework_output)
            answer = next(
                (
                    m
                    for m in reversed(said)
                    if m["role"] == "assistant" and text_of(m) and not parts_of(m, "tool_call")
                ),
                None,
            )
            if answer is not None and not last.reading.failed:
                return last.ordinal, answer
    return None


def find_input(tree: Tree, calls: Calls, root_messages: list[Message]) -> str | None:
    """Return the user's text of this run: the last user message that its root was given, else that its first model call saw."""
    first = calls.models[0].input if calls.models else []
    for messages in (root_messages, first):
        for message in reversed(messages):
            if message["role"] == "user" and text_of(message):
                return text_of(message)
    return None
