"""Prompts that are one text: all that a model was given, line after line, and of nothing who said it.

A prompt goes on from the one before where its text begins with that. What follows is known where it is just the answer to
that one, or what a language prints for an answer without a text, and what the tools that ran between the two returned,
as their spans have it, to the last letter: then these tools are what the answer asked for. Of the text before the first
answer it stays unknown who said it, unless it is a single line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrospan.ingest.interpret.messages.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.prompts.left_out_calls import result_of
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.untold_answers import call_of, take_turns, with_calls

_UNKNOWN = "unknown"
#: What languages print for an answer without a text.
_NOTHING = ("null", "None", "undefined", "")


def split_one_texts(tree: Tree, requests: Sequence[NormalizedSpan]) -> None:
    """Take the prompts of a run apart that are one text, and give their answers the calls that they leave out, in place."""
    texts = [_only_text(span.input) for span in requests]
    if len(requests) < 2 or "" in texts or not take_turns(requests):
        return
    ran = sorted(
        (span for span in tree.spans if span.operation == "tool"), key=lambda span: span.sent.started_at
    )
    last: dict[str | None, int] = {}
    for place, span in enumerate(requests):
        at = last.get(span.agent_name)
        last[span.agent_name] = place
        if at is None or at != place - 1 or not texts[place].startswith(texts[at]):
            continue
        before = requests[at]
        tools = [tool for tool in ran if _ran_between(tool, before, span)]
        found = _read(before, texts[place][len(texts[at]) :], tools)
        if found is None:
            continue
        if len(before.input) == 1 and "\n" in texts[at]:
            before.input = [{**before.input[0], "role": _UNKNOWN}]
        before.output, results = found
        span.input = [*before.input, *before.output, *results]


def _only_text(messages: Sequence[Message]) -> str:
    """Return the text of a prompt that is one text of a user's, '' for any other."""
    only = messages[0] if len(messages) == 1 and messages[0]["role"] == "user" else None
    return text_of(only) if only is not None and len(only["parts"]) == 1 else ""


def _ran_between(tool: NormalizedSpan, before: NormalizedSpan, after: NormalizedSpan) -> bool:
    return before.sent.done_at <= tool.sent.started_at <= tool.sent.done_at <= after.sent.started_at


def _read(
    asking: NormalizedSpan, rest: str, tools: Sequence[NormalizedSpan]
) -> tuple[list[Message], list[Message]] | None:
    """Return an answer with its calls, and what these returned, where a text is just that; None for any other."""
    ids = [tool.tool_call_id for tool in tools]
    if not tools or None in ids or len({*ids}) != len(ids) or not all(tool.tool_name for tool in tools):
        return None
    said = "\n".join(map(text_of, asking.output))
    rests = [after for text in ([said] if said else _NOTHING) if (after := _after(rest, text)) is not None]
    for after in rests:
        results = _results(after, tools)
        if results is None:
            continue
        calls = [part for message in asking.output for part in parts_of(message, "tool_call")]
        if calls and [part.get("id") for part in calls] != ids:
            return None
        answer = [*asking.output] if calls else with_calls(asking.output, [*map(call_of, tools)])
        return answer, results
    return None


def _after(text: str, line: str) -> str | None:
    """Return what stands in a text after a line break and a line, or lines; None where something else stands there."""
    start = f"\n{line}"
    after = text[len(start) :]
    return after if text.startswith(start) and after[:1] in ("", "\n") else None


def _results(rest: str, tools: Sequence[NormalizedSpan]) -> list[Message] | None:
    """Return the results that a text tells, one of each tool in their order, and nothing else."""
    results: list[Message] = []
    for tool in tools:
        fitting = [said for said in _texts_of(tool.sent) if said and _after(rest, said) is not None]
        if not fitting:
            return None
        said = max(fitting, key=len)
        rest = rest[len(said) + 1 :]
        asked: Part = {"type": "tool_call", "id": tool.tool_call_id or ""}
        results.append({"role": "tool", "parts": [result_of(asked, response_of(said))]})
    return results if not rest else None


def _texts_of(span: Span) -> Iterator[str]:
    """Yield the texts that a span holds, whatever they are called."""
    values = [*span.attributes.values(), span.status_message]
    values += [value for event in span.events for value in event.attributes.values()]
    return (value for value in values if isinstance(value, str))
