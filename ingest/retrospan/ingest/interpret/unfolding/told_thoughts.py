"""What a model said before its calls, if a framework sends it apart from the answer: in a span of its own, right before it."""

from __future__ import annotations

from retrospan.ingest.interpret.messages.message import parts_of, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree


def join_thoughts(tree: Tree) -> None:
    """Give answers that are told without a span of their own the text told before them by the same agent, in place."""
    waiting: dict[str | None, NormalizedSpan] = {}
    for span in tree.spans:
        if span.is_thought:
            waiting[span.agent_name] = span
        elif span.is_told and (thought := waiting.pop(span.agent_name, None)) is not None:
            first = span.output[0] if span.output else None
            if first is not None and parts_of(first, "tool_call") and not text_of(first):
                parts = [*thought.output[0]["parts"], *first["parts"]]
                span.output = [{**first, "parts": parts}, *span.output[1:]]
