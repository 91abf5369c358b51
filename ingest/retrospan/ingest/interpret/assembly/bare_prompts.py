"""Prompts that leave out the calls of the answers which they repeat, and tell results as bare texts or as marks that only name
the tool, or not at all: completed by these answers, and by what the tools returned.

A prompt goes on from an earlier one of the same agent where it begins with all of it. What follows is the answer to the
earlier one without its calls, if it had a text, and then one text of a tool for each call, in their order. A mark such as
`[tool: search]` stands for a call or a result: what it was, the span of the tool says. A prompt without any result has
those of the tools that ran between the two, if the request did not fail: this is inferred.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from retrospan.ingest.interpret.assembly.calls import ModelCall
from retrospan.ingest.interpret.assembly.tree import Tree
from retrospan.ingest.interpret.normalize.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.normalize.messages import response_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments

#: What stands for a call, or for what it returned: a word, the tool's name, nothing else.
_MARK = re.compile(r"\[([\w-]+): ([\w.:/-]+)\]")
_EMPTY: tuple[object, ...] = ("", [], {})
#: By the id of the call.
Executed = Mapping[str, NormalizedSpan]


def complete_prompts(calls: Sequence[ModelCall], tree: Tree) -> None:
    """Give prompts the calls and the results that they leave out, in place."""
    own: dict[str | None, list[tuple[ModelCall, list[Message]]]] = {}
    for call in calls:
        own.setdefault(call.span.agent_name, []).append((call, call.input))
    executed: Executed | None = None
    for told in own.values():
        for (before, given), (call, said) in pairwise(told):
            if not given or len(given) > len(said) or said[: len(given)] != given or before.span.failed:
                continue
            if executed is None:
                executed = _executed(tree)
            new, began = said[len(given) :], call.span.sent.started_at
            rest = _completed(before.span.output, new, executed, began)
            # Of a request that failed it is not known whether it was made for what had come back.
            if (
                rest is None
                and not call.span.failed
                and not any(message["role"] == "tool" for message in new)
            ):
                rest = _executed_between(before, new, tree, began)
                if rest is not None:
                    call.input, call.history = [*before.input, *rest], "inferred"
                    continue
            if rest is not None:
                call.input, call.history = [*before.input, *rest], "rebuilt"
            elif before.input is not given and len(given) < len(said):
                call.input, call.history = [*before.input, *said[len(given) :]], "rebuilt"


def _executed(tree: Tree) -> Executed:
    return {span.tool_call_id: span for span in tree.spans if span.operation == "tool" and span.tool_call_id}


def _completed(
    answer: list[Message], rest: Sequence[Message], executed: Executed, before: int
) -> list[Message] | None:
    """Return an answer, the results of its calls and what is said after them; None where these are not told barely."""
    asked = [part for message in answer for part in parts_of(message, "tool_call")]
    if not asked or any(map(_tells_calls, rest)):
        return None
    after = _after_answer(answer, asked, rest)
    if after is None:
        return None
    results: list[Message] = []
    told = [*_told(after)]
    used = 0
    for part in asked:
        tool = executed.get(part.get("id", ""))
        is_done = tool is not None and 0 < tool.sent.ended_at <= before
        said = told[used][1] if used < len(told) else ""
        mark = _MARK.fullmatch(said)
        if mark is not None and mark[2] == part.get("name"):
            if tool is None or not is_done or not (tool.has_result or tool.failed):
                return None
            results.append(_result(part, tool.error_message if tool.failed else tool.result))
        elif tool is not None and is_done and tool.has_result and tool.result in _EMPTY:
            results.append(_result(part, tool.result))  # an empty text is not a message
            continue
        elif said and mark is None:
            results.append(_result(part, response_of(said)))
        else:
            return None
        used += 1
    ended = told[used - 1][0] if used else 0
    return [*answer, *results, *after[ended:]] if used == len(told) else None


def _executed_between(
    before: ModelCall, rest: Sequence[Message], tree: Tree, began: int
) -> list[Message] | None:
    """Return an answer, what its tools returned meanwhile, and what is said after them, where a prompt tells no result at
    all; None where it is not known of each of the calls that it ran, once, and what it returned."""
    answer = before.span.output
    asked = [part for message in answer for part in parts_of(message, "tool_call")]
    after = None if not asked or any(map(_tells_calls, rest)) else _after_answer(answer, asked, rest)
    if after is None or any(message["role"] == "assistant" for message in after):
        return None
    ran = [
        span
        for span in tree.spans
        if span.operation == "tool"
        and before.span.sent.done_at <= span.sent.started_at <= span.sent.done_at <= began
    ]
    results: list[Message] = []
    for part in asked:
        fitting = [
            span
            for span in ran
            if is_same_tool(span.tool_name or "", part.get("name", ""))
            and same_arguments(span.arguments, part.get("arguments"))
        ]
        if len(fitting) != 1 or fitting[0].failed or not fitting[0].has_result:
            return None
        results.append(_result(part, fitting[0].result))
    return [*answer, *results, *after]


def _after_answer(
    answer: list[Message], asked: Sequence[Part], rest: Sequence[Message]
) -> Sequence[Message] | None:
    """Return what stands after an answer that is told without its calls, or with marks in their place."""
    text = "".join(map(text_of, answer)).strip()
    if rest and _is_text(rest[0], "assistant"):
        said = text_of(rest[0]).strip()
        marks = [mark[2] for mark in _MARK.finditer(said[len(text) :])]
        is_marked = marks == [part.get("name") for part in asked] and not _MARK.sub("", said[len(text) :])
        return rest[1:] if said == text or (said.startswith(text) and is_marked) else None
    return None if text else rest


def _tells_calls(message: Message) -> bool:
    """Tell whether a message says which call it asks for or answers."""
    return any(
        part["type"] == "tool_call" or (part["type"] == "tool_call_response" and "id" in part)
        for part in message["parts"]
    )


def _told(messages: Sequence[Message]) -> Iterator[tuple[int, str]]:
    """Yield the results that a tool's messages say barely, each with the place after its message: of marks, each one."""
    for place, message in enumerate(messages, 1):
        if message["role"] != "tool":
            return
        said = _bare(message["parts"][0]) if len(message["parts"]) == 1 else None
        if said is None:
            return
        marks = [mark[0] for mark in _MARK.finditer(said)]
        yield from ((place, each) for each in (marks if marks and not _MARK.sub("", said) else [said]))


def _bare(part: Part) -> str | None:
    """Return what a part of a tool's message says, where it does not say which call it answers."""
    if part["type"] == "tool_call_response":
        said = None if "id" in part else part.get("response")
    else:
        said = part.get("content") if part["type"] == "text" else None
    return said if isinstance(said, str) else None


def _is_text(message: Message, role: str) -> bool:
    """Tell whether a message of a role is nothing but a text."""
    return message["role"] == role and all(part["type"] == "text" for part in message["parts"])


def _result(asked: Part, response: object) -> Message:
    part: Part = {"type": "tool_call_response"}
    if "id" in asked:
        part["id"] = asked["id"]
    part["response"] = response
    return {"role": "tool", "parts": [part]}
