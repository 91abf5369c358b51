"""Answers of which nothing was sent: each asked for the tools that ran inside its own step, if their spans have the calls.

Only where no request of the run tells a prompt, an answer or how it ended: what tells some has lost the others. The step of
a request is the widest that holds no other one.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.messages.message import Part
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree


def complete_unsaid(tree: Tree, requests: Sequence[NormalizedSpan]) -> None:
    """Give answers the calls that ran inside their steps, in place."""
    if not requests or any(span.input or span.output or span.finish_reasons for span in requests):
        return
    ran: dict[str, NormalizedSpan | None] = {}
    for span in tree.spans:
        if span.operation == "tool" and span.tool_call_id and span.tool_name and span.has_arguments:
            ran[span.tool_call_id] = None if span.tool_call_id in ran else span
    if not ran:
        return
    owners = _owners(tree, requests)
    asked: dict[NormalizedSpan, list[Part]] = {}
    for call_id, tool in ran.items():
        request = _owner(tool, tree, owners) if tool is not None else None
        if tool is not None and request is not None and not request.failed:
            part: Part = {
                "type": "tool_call",
                "id": call_id,
                "name": tool.tool_name or "",
                "arguments": tool.arguments,
            }
            asked.setdefault(request, []).append(part)
    for request, calls in asked.items():
        request.output, request.is_unsaid = [{"role": "assistant", "parts": calls}], True


def _owners(tree: Tree, requests: Sequence[NormalizedSpan]) -> dict[NormalizedSpan, NormalizedSpan | None]:
    """Return the request of each span above one, None where it holds several."""
    owners: dict[NormalizedSpan, NormalizedSpan | None] = {}
    for request in requests:
        at: NormalizedSpan | None = request
        while at is not None:
            if at in owners:
                if owners[at] is None:
                    break  # so are those above
                owners[at] = None
            else:
                owners[at] = request
            at = tree.parent(at)
    return owners


def _owner(
    tool: NormalizedSpan, tree: Tree, owners: dict[NormalizedSpan, NormalizedSpan | None]
) -> NormalizedSpan | None:
    at = tree.parent(tool)
    while at is not None and at not in owners:
        at = tree.parent(at)
    return owners[at] if at is not None else None
