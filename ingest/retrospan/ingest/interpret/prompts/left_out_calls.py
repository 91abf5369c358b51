"""Prompts of which an instrumentation leaves out every call and every result: inferred from the answers and the executions.

That something was left out shows in the count of tokens: a prompt that is told just as the one before, and counted longer
than that and its answer, held this answer and what its tools returned. It is inferred only where nothing else is possible:
the agent is the first of its run, and its first prompt tells texts alone, of a system and a user; its calls follow each
other; no prompt of the run tells a call or a result; of each call it is known that it ran once, and what it returned; and
all this holds of each of its calls before. Anywhere else the prompt stays as it is told.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.interpret.tree.tree import Tree

#: Who speaks in a prompt that no answer went before.
_FIRST = ("system", "user")
#: Whose words an instrumentation tells that leaves out calls and results.
_TOLD = (*_FIRST, "assistant")
#: Of an answer that asks for more calls nothing is inferred: each is compared with each execution.
MOST = 100


def infer_left_out(
    calls: Sequence[ModelCall],
    own: Mapping[str | None, Sequence[tuple[ModelCall, list[Message]]]],
    tree: Tree,
) -> None:
    """Complete the prompts of the agent that made the first call of a run, in place. `own` holds the calls of each agent,
    each with its prompt as it was told."""
    first = calls[0] if calls else None
    if first is None or not first.input or any(message["role"] not in _FIRST for message in first.input):
        return
    told = own[first.span.agent_name]
    if not _takes_turns([call for call, _ in told]) or any(map(_tells_acts, calls)):
        return
    ran = [span for span in tree.spans if span.operation == "tool" and not span.is_part]
    ran.sort(key=_began_at)
    for (before, given), (call, said) in pairwise(told):
        if said[: len(given)] != given or not _is_text_of(before.span.output, said[len(given) :]):
            return
        results = _results(before, call, ran) if call.ordinal == before.ordinal + 1 else []
        if not results or not _is_longer(call, before):
            return
        call.input, call.history = [*before.input, *before.span.output, *results], "inferred"


def _is_text_of(answer: Sequence[Message], rest: Sequence[Message]) -> bool:
    """Tell whether messages are an answer without its calls: its text, or nothing if it had none."""
    said = "".join(map(text_of, answer)).strip()
    return "".join(map(text_of, rest)).strip() == said and all(
        message["role"] == "assistant" for message in rest
    )


def _takes_turns(calls: Sequence[ModelCall]) -> bool:
    """Tell whether each call began when the one before had been answered; one that failed was perhaps made again."""
    return not any(call.span.failed for call in calls[:-1]) and all(
        0 < before.span.sent.ended_at <= call.span.sent.started_at for before, call in pairwise(calls)
    )


def _tells_acts(call: ModelCall) -> bool:
    return any(
        message["role"] not in _TOLD or any(part["type"] != "text" for part in message["parts"])
        for message in call.input
    )


def _is_longer(call: ModelCall, before: ModelCall) -> bool:
    """Tell whether a prompt was counted longer than the one before and its answer."""
    given, said, now = before.span.tokens.input, before.span.tokens.output, call.span.tokens.input
    return given is not None and bool(said) and now is not None and now > given + (said or 0)


def _began_at(span: NormalizedSpan) -> int:
    return span.sent.started_at


def _results(before: ModelCall, call: ModelCall, ran: Sequence[NormalizedSpan]) -> list[Message]:
    """Return what the tools that an answer asked for returned before a call, each in a message; nothing where that is not
    known of each, or where others ran. What ran is given in the order in which it began."""
    asked = [part for message in before.span.output for part in parts_of(message, "tool_call")]
    began, ended = before.span.sent.done_at, call.span.sent.started_at
    between = ran[bisect_left(ran, began, key=_began_at) : bisect_right(ran, ended, key=_began_at)]
    if len(between) != len(asked) or len(asked) > MOST or any(span.sent.done_at > ended for span in between):
        return []
    results: list[Message] = []
    for part in asked:
        fitting = [span for span in between if _executes(span, part)]
        # One that failed may have returned what the model was told of it, but it was told something.
        if len(fitting) != 1 or not fitting[0].has_result or (fitting[0].failed and not fitting[0].result):
            return []
        results.append({"role": "tool", "parts": [result_of(part, fitting[0].result)]})
    return results


def _executes(span: NormalizedSpan, part: Part) -> bool:
    return is_same_tool(span.tool_name or "", part.get("name", "")) and same_arguments(
        span.arguments, part.get("arguments")
    )


def result_of(asked: Part, response: object) -> Part:
    """Return the result of a call, with its id."""
    part: Part = {"type": "tool_call_response"}
    if "id" in asked:
        part["id"] = asked["id"]
    part["response"] = response
    return part
