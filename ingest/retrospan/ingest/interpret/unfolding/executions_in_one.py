"""One span for several executions of tools, which one answer asked for: it lists their names and ids, with commas between.

They are as many executions. Which of them took how long is not known, and where one such span failed it is not known which
of them did: that one stays as it is told, as does one that tells of arguments or results, and the run lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from retrospan.ingest.interpret.messages.message import parts_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.tree.tree import Tree

_NAME = re.compile(r"[\w.:/-]+")
_ID = re.compile(r"[^\s,]+")


def split_executions(tree: Tree) -> None:
    """Put the executions that a span lists into its place, in place. Where calls are told, these must be some of them."""
    listing = [(span, each) for span in tree.spans if (each := executions_listed(span))]
    if not listing:
        return
    asked = {
        part.get("id")
        for span in tree.spans
        for message in span.output
        for part in parts_of(message, "tool_call")
    }
    told: list[tuple[NormalizedSpan, NormalizedSpan]] = []
    for span, executions in listing:
        is_whole = not (span.failed or span.interrupted or span.is_unfinished)
        says_more = span.has_arguments or span.has_result
        if (
            is_whole
            and not says_more
            and (not asked or asked.issuperset(call_id for _, call_id in executions))
        ):
            told += ((span, _told(span, name, call_id)) for name, call_id in executions)
            span.operation = "step"
    tree.add(told)


def executions_listed(span: NormalizedSpan) -> list[tuple[str, str]]:
    """Return the tools, each with the id of its call, that the span of a tool lists; none where it is one execution."""
    if span.operation != "tool" or "," not in (span.tool_name or "") or "," not in (span.tool_call_id or ""):
        return []
    names, ids = [*_listed(span.tool_name or "")], [*_listed(span.tool_call_id or "")]
    if len(names) != len(ids) or len({*ids}) < len(ids):
        return []
    is_list = all(map(_NAME.fullmatch, names)) and all(map(_ID.fullmatch, ids))
    return [*zip(names, ids, strict=True)] if is_list else []


def _listed(text: str) -> Iterator[str]:
    return (each.strip() for each in text.split(","))


def _told(span: NormalizedSpan, name: str, call_id: str) -> NormalizedSpan:
    """Return one of the executions of a span: what else its attributes and events say is not of this one alone."""
    return NormalizedSpan(
        sent=replace(span.sent, ended_at=0, attributes={}, events=[], links=[], logs=[], loose=[], strays=[]),
        operation="tool",
        dialect=span.dialect,
        names=span.names,
        agent_name=span.agent_name,
        tool_name=name,
        tool_call_id=call_id,
        is_told=True,
    )
