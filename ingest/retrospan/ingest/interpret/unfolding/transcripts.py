"""Model calls of a run that has no span for any: told by the transcript that an agent returned.

Some frameworks have spans for their agents only. Where such a span returns all that was said, each answer in it is one
model call, which was given what stands before it. When it was made is not known: it stands where the run had come to,
no earlier than the tools whose results it was given.

Where the only agent of a run executed tools or names its model, and returns a text, that text is the last answer of its
model. What the model was given, and what it said before, is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from retrospan.ingest.interpret.messages.message import Message, Part, parts_of, text_of
from retrospan.ingest.interpret.messages.messages import read_message
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer, parse_request
from retrospan.ingest.interpret.messages.response_usage import parse_usage
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.kept_transcripts import kept_lists
from retrospan.ingest.json_text import Unreadable, read_value

#: How an object begins that was only printed.
_PRINTED = re.compile(r"\s*(?:[\[{(<]|[A-Z]\w*\(\w+=)")
#: What a message of a transcript is, beside what the framework keeps of it.
TranscriptEntry = tuple[Message, object]


def synthesize_calls(tree: Tree) -> None:
    """Add the model calls that transcripts tell of to a run without spans for model calls, in place."""
    if any(span.operation == "inference" for span in tree.spans):
        return
    found: dict[NormalizedSpan, list[TranscriptEntry]] = {}
    for span in tree.spans:
        if span.operation in ("agent", "workflow", "step") and (said := list(_transcript(span))):
            found[span] = said
        elif span.operation in ("agent", "workflow") and _tells_answers(span):
            found[span] = []
    # The innermost tells it: spans around it repeat it.
    around = tree.around(span for span in tree.spans if span in found)
    telling = [span for span in tree.spans if span in found and span not in around]
    if not telling:
        kept = [(span, said) for span in tree.spans if (said := _kept(span))]
        if len(kept) != 1:
            tree.add(_last_answer(tree))
            return
        found, telling = dict(kept), [kept[0][0]]
        if telling[0].request_model is None:
            models = {span.request_model for span in tree.spans} - {None}
            telling[0].request_model = models.pop() if len(models) == 1 else None
    tools = _tools_inside(tree, telling)
    tree.add(
        (span, call)
        for span in telling
        for call in _calls(span, found[span] or _with_results(span, tools.get(span, [])), tools.get(span, []))
    )


def _kept(span: NormalizedSpan) -> list[TranscriptEntry]:
    """Return the one transcript, with the calls of a model in it, that an agent or a workflow keeps in a value of any name."""
    if span.operation not in ("agent", "workflow"):
        return []
    told: list[list[TranscriptEntry]] = [
        [(message, kept) for kept in listed if isinstance(kept, dict) and (message := read_message(kept))]
        for listed in kept_lists(span)
    ]
    asking = [
        said
        for said in told
        if any(parts_of(message, "tool_call") for message, _ in said)
        and any(message["role"] == "user" for message, _ in said)
        and said[-1][0]["role"] == "assistant"
    ]
    return asking[0] if len(asking) == 1 else []


def _tools_inside(tree: Tree, telling: list[NormalizedSpan]) -> dict[NormalizedSpan, list[NormalizedSpan]]:
    """Return the tools inside each of some spans, of which none lies in another, in order."""
    marked = {*telling}
    nearest = tree.nearest(lambda span: span in marked)
    tools: dict[NormalizedSpan, list[NormalizedSpan]] = {}
    for span in tree.spans:
        if span.operation == "tool" and span in nearest:
            tools.setdefault(nearest[span], []).append(span)
    return tools


def _last_answer(tree: Tree) -> Iterator[tuple[NormalizedSpan, NormalizedSpan]]:
    """Yield the call whose answer the only agent of a run that said anything returned, with the agent."""
    agents = [
        span
        for span in tree.spans
        if span.operation == "agent" and (span.output or span.framework_output is not None or span.failed)
    ]
    if len(agents) != 1 or agents[0].failed or agents[0].interrupted or agents[0].is_unfinished:
        return
    agent = agents[0]
    tools = _tools_inside(tree, agents).get(agent, [])
    said = agent.output
    if not said and isinstance(agent.framework_output, str):
        said = parse_answer(agent.framework_output)
    text = text_of(said[0]) if len(said) == 1 else ""
    is_answer = text and not _PRINTED.match(text) and not parts_of(said[0], "tool_call")
    returned = [tool for tool in tools if tool.result == text]
    # A tool that only hands on what it was given ends the run with the answer: it was the model that said it.
    if (
        is_answer
        and _has_model(agent, tools)
        and all(same_arguments(text, tool.arguments) for tool in returned)
    ):
        ended = max((tool.sent.ended_at for tool in tools), default=0)
        yield agent, told_call(agent, max(agent.sent.started_at, ended), [], [], said[0], None)


def _has_model(agent: NormalizedSpan, tools: Sequence[NormalizedSpan]) -> bool:
    """Tell whether it was a model that said what an agent returned: tools ran for it, or it names its model."""
    return bool(tools) or (bool(agent.output) and bool(agent.request_model or agent.response_model))


def _transcript(span: NormalizedSpan) -> Iterator[TranscriptEntry]:
    """Yield the messages that a span returned, when an answer of a model stands among them after what was asked."""
    returned = span.framework_output
    listed = returned.get("messages") if isinstance(returned, dict) else returned
    if not isinstance(listed, list):
        return
    said: list[TranscriptEntry] = []
    for item in listed:
        kept = read_value(item)
        kept = read_repr(kept) if isinstance(kept, str) else kept
        if isinstance(kept, Unreadable) or not isinstance(kept, dict):
            return
        message = read_message(kept)
        if message is not None:
            said.append((message, kept))
    roles = [message["role"] for message, _ in said]
    is_answered = "user" in roles and "assistant" in roles[roles.index("user") :]
    if is_answered and ("system" in roles or any(_is_of_model(message, kept) for message, kept in said)):
        yield from said


def _tells_answers(span: NormalizedSpan) -> bool:
    """Tell whether the output of an agent is what its model answered, one message for each part, without the results."""
    said = span.output
    return (
        all(message["role"] == "assistant" for message in said)
        and any(parts_of(message, "tool_call") for message in said)
        and bool(_asked(span))
    )


def _asked(span: NormalizedSpan) -> list[Message]:
    """Return what an agent was asked."""
    return span.input or parse_request(span.framework_input).messages


def _with_results(span: NormalizedSpan, tools: Sequence[NormalizedSpan]) -> list[TranscriptEntry]:
    """Return what was said: the parts of one answer put together, and after each answer what its tools returned.

    An answer goes on with the next message as long as it asks for nothing, or while a tool that it asked for is running:
    a model answers only after the last of them.
    """
    by_id = {tool.tool_call_id: tool for tool in tools if tool.tool_call_id}
    whole = list(_asked(span))
    if span.system:
        whole.insert(0, {"role": "system", "parts": span.system})
    parts: list[Part] = []
    running: list[NormalizedSpan] = []
    for message in span.output:
        calls = parts_of(message, "tool_call")
        executed = [by_id[call_id] for part in calls if (call_id := part.get("id", "")) in by_id]
        begun = min((tool.sent.started_at for tool in executed), default=0)
        ended = min((tool.sent.ended_at for tool in running), default=0)
        if any(part["type"] == "tool_call" for part in parts) and not 0 < begun < ended:
            whole += _answer_and_results(parts, running)
            parts, running = [], []
        parts, running = [*parts, *message["parts"]], [*running, *executed]
    return [(message, None) for message in [*whole, *_answer_and_results(parts, running)]]


def _answer_and_results(parts: list[Part], tools: Sequence[NormalizedSpan]) -> Iterator[Message]:
    yield {"role": "assistant", "parts": parts}
    for tool in tools:
        result: Part = {"type": "tool_call_response", "id": tool.tool_call_id or "", "response": tool.result}
        if tool.failed:
            result = {**result, "is_error": True}
        if tool.has_result or tool.failed:
            yield {"role": "tool", "parts": [result]}


def _is_of_model(message: Message, kept: object) -> bool:
    """Tell whether only a model can have said it: it asks for a tool, or names the model or its tokens."""
    used = parse_usage(kept)
    return bool(parts_of(message, "tool_call")) or used.model is not None or used.input is not None


def _calls(
    span: NormalizedSpan, said: list[TranscriptEntry], waiting: list[NormalizedSpan]
) -> Iterator[NormalizedSpan]:
    """Yield one span per answer of this run; what was given to it is not an answer, though an assistant may have said it.

    `waiting` are the tools inside it; they are taken from the list.
    """
    given = _asked(span)
    known = [place for place, (message, _) in enumerate(said) if given and message == given[-1]]
    begun = known[-1] if known else -1
    at = span.sent.started_at
    system: list[Part] = []
    before: list[Message] = []
    for place, (message, kept) in enumerate(said):
        if message["role"] == "assistant" and place > begun:
            yield told_call(span, at, system, before, message, kept)
            at = max(at, _ended(message, waiting))
        if message["role"] == "system" and not before:
            system = [*system, *message["parts"]]
        else:
            before = [*before, message]


def told_call(
    span: NormalizedSpan, at: int, system: list[Part], before: list[Message], answer: Message, kept: object
) -> NormalizedSpan:
    """Return the model call whose answer a span tells."""
    used = parse_usage(kept)
    return NormalizedSpan(
        sent=replace(span.sent, started_at=at, ended_at=0),
        operation="inference",
        dialect=span.dialect,
        system=system,
        input=before,
        output=[answer],
        request_model=span.request_model,
        response_model=used.model,
        tokens=TokenUsage(used.input, used.output, used.cached),
        is_told=True,
    )


def _ended(answer: Message, waiting: list[NormalizedSpan]) -> int:
    """Return when the tools that an answer asks for had ended; those are taken from the waiting ones."""
    ended = 0
    for part in parts_of(answer, "tool_call"):
        name = part.get("name", "")
        place = next((n for n, tool in enumerate(waiting) if is_same_tool(tool.tool_name or "", name)), None)
        if place is not None:
            ended = max(ended, waiting.pop(place).sent.ended_at)
    return ended
