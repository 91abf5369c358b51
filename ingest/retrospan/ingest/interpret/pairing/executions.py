"""Spans of unknown kind that are the execution of a tool which a model asked for: the run says so, not the span.

Each has the name of a tool that was asked for, lies between the asking and the next prompt of the same agent, and either
holds the arguments of the call, or says none and is one of just as many such spans as calls. Else nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.calls.calls import RequestedCall
from retrospan.ingest.interpret.calls.retelling import Retelling
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.same_tool import same_arguments
from retrospan.ingest.interpret.tree.tree import Tree

#: The calls that one answer asks of one tool.
Asking = tuple[int, str]

#: What may stand before the name of a tool in that of a span, such as `running tool: search`.
_BEFORE = re.compile(
    r"(?:[^a-z]|tools?|functions?|actions?|mcp|client|server|agent|(?:call|run|execut|invok|us|handl)(?:e|ing|n?ing)?)*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s.:/]*\Z")


def find_executions(
    tree: Tree, asked: Sequence[RequestedCall], retelling: Retelling
) -> Iterator[tuple[NormalizedSpan, RequestedCall]]:
    """Yield the spans of unknown kind that execute calls which have no execution yet; both are marked so, in place."""
    waiting: dict[str, list[RequestedCall]] = {}
    for call in asked:
        if not call.taken:
            waiting.setdefault(call.name, []).append(call)
    if not waiting:
        return
    named: dict[NormalizedSpan, str] = {}
    for span in tree.spans:
        # What takes no time only announces something.
        is_known = span.is_part or span.operation not in ("other", "step")
        if not is_known and span.sent.ended_at > span.sent.started_at:
            name = _tool_named(span, waiting)
            if name is not None:
                named[span] = name
    if not named:
        return
    around = tree.nearest(lambda span: span in named)
    between = {
        call.by: retelling.between(call.by - 1) for name in {*named.values()} for call in waiting[name]
    }
    fitting: dict[Asking, list[NormalizedSpan]] = {}
    for span, name in named.items():
        if span in around and named[around[span]] == name:
            continue
        askings = {call.by for call in waiting[name] if span.sent.started_at in between[call.by]}
        if len(askings) == 1:
            fitting.setdefault((askings.pop(), name), []).append(span)
    for (by, name), spans in fitting.items():
        calls = [call for call in asked if call.by == by and call.name == name]
        yield from _executing(spans, calls, retelling.retold_calls(by - 1))


def _tool_named(span: NormalizedSpan, names: dict[str, list[RequestedCall]]) -> str | None:
    """Return the tool that was asked for and that a span names: in an attribute, whatever its name,
    or in its own name after words for a call."""
    attributes = span.sent.attributes
    for key in span.names.tools:
        said = attributes.get(key)
        if isinstance(said, str) and said in names:
            return said
    text = span.sent.name
    if text in names:
        return text
    said = {value for value in attributes.values() if isinstance(value, str) and value in names}
    if len(said) == 1:
        return said.pop()
    word = _WORD.search(text)
    found = word[0] if word else ""
    return found if found in names and _BEFORE.fullmatch(text[: -len(found)]) else None


def _executing(
    spans: Sequence[NormalizedSpan], calls: Sequence[RequestedCall], retold: Sequence[str] | None
) -> Iterator[tuple[NormalizedSpan, RequestedCall]]:
    """Pair what one answer asked of one tool with the spans that fit: by arguments, else by position.

    `retold` names the calls that the next prompt retells: more of them than the answer asked for were asked for by an
    answer that never came, and it is not known whose execution is there.
    """
    rest, pairs = [*spans], []
    waiting = [call for call in calls if not call.taken]
    for call in waiting:
        holding = [span for span in rest if _holds(span, call)]
        equal = [each for each in waiting if each.arguments == call.arguments]
        # As many as there are equal calls; of the others it is not known which is another try, or something else.
        if holding and len(holding) == len([each for each in equal if not each.taken]):
            call.taken = True
            rest.remove(holding[0])
            pairs.append((holding[0], call))
    is_whole = len(calls) == len(rest) and not any(call.taken for call in calls)
    if is_whole and (retold is None or retold.count(calls[0].name) == len(calls)):
        pairs += zip(rest, calls, strict=True) if all(map(_says_no_arguments, rest)) else ()
    for span, call in pairs:
        call.taken = True
        span.operation, span.tool_name = "tool", call.name
        yield span, call


def _holds(span: NormalizedSpan, call: RequestedCall) -> bool:
    """Tell whether one of a span's attributes holds the arguments of a call."""
    return bool(call.arguments) and any(
        isinstance(value, str | dict) and value and same_arguments(value, call.arguments)
        for value in span.sent.attributes.values()
    )


def _says_no_arguments(span: NormalizedSpan) -> bool:
    return span.fields.any(*span.names.arguments) is None
