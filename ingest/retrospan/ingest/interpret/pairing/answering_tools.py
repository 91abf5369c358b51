"""What tools returned, which a prompt tells as the words of the user right after their calls.

Between calls and their results nobody speaks: that a text there is what the execution of one of these calls returned, or
failed with, its own span says. Where one is known so, prompts of the run tell results like that: an object in such a place
is one as well, of an execution in an earlier run of the conversation. Anything else stays whose it is said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.messages.message_parts import tool_response
from retrospan.ingest.interpret.messages.tool_results import response_of, result_in_text
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.json_text import write_json

#: Places in which the first result of a history stands, if it has any.
_FIRST = 6
#: A framework that takes nothing but objects puts any other result under this key.
_KEY = "result"
_SHORTEST_ERROR = 4
#: Prompts among which one is looked for that tells a result so, and executions among which that of a call is.
_LOOKED_AT, _NEAR = 20, 100
_Find = Callable[[Part], NormalizedSpan | None]


@dataclass(slots=True)
class _Prompt:
    """A prompt as far as it is read: what was sent, what it says, and the calls in it that wait for a result."""

    sent: list[Message] = field(default_factory=list)
    named: list[Message] = field(default_factory=list)
    waiting: list[Part] = field(default_factory=list)


def name_answering_tools(requests: Sequence[NormalizedSpan], executed: Sequence[NormalizedSpan]) -> None:
    """Give the texts of a user that tools returned to these, in place."""
    telling = [span for span in requests if _may_tell(span.input)] if executed else []
    for span in telling[:_LOOKED_AT]:
        named = _read_on(_Prompt(), span, executed, is_known=False).named
        if len(_results(named)) > len(_results(span.input)):
            break
    else:
        return
    last: dict[str | None, _Prompt] = {}
    for span in telling:
        before = last.get(span.agent_name) or _Prompt()
        goes_on = span.input[: len(before.sent)] == before.sent
        last[span.agent_name] = _read_on(before if goes_on else _Prompt(), span, executed, is_known=True)
        span.input = last[span.agent_name].named


def _results(messages: Sequence[Message]) -> list[Part]:
    return [part for message in messages for part in parts_of(message, "tool_call_response")]


def _may_tell(messages: Sequence[Message]) -> bool:
    """Tell whether a text of a user stands after a call, at the begin of a history or at its end."""
    begin = [bool(parts_of(message, "tool_call")) for message in messages[:_FIRST]]
    if any(begin[:-1]):
        place = begin.index(True)
        return any(message["role"] == "user" for message in messages[place + 1 : _FIRST])
    return len(messages) > _FIRST and messages[-1]["role"] == "user"


def _executions(executed: Sequence[NormalizedSpan], before: int) -> _Find:
    """Return what finds the execution of a call that had ended: by its id, else the only one with its name and arguments."""
    ended = [span for span in executed if 0 < span.sent.ended_at <= before]
    by_id = {span.tool_call_id: span for span in ended if span.tool_call_id}
    unnamed = [span for span in ended if not span.tool_call_id][-_NEAR:]

    def find(call: Part) -> NormalizedSpan | None:
        known = by_id.get(call.get("id", ""))
        if known is not None:
            return known
        fitting = [
            span
            for span in unnamed
            if is_same_tool(span.tool_name or "", call.get("name", ""))
            and same_arguments(span.arguments, call.get("arguments"))
        ]
        return fitting[0] if len(fitting) == 1 else None

    return find


def _read_on(
    before: _Prompt, span: NormalizedSpan, executed: Sequence[NormalizedSpan], *, is_known: bool
) -> _Prompt:
    """Return the prompt of a request that goes on from another."""
    find = _executions(executed, span.sent.started_at)
    found, waiting = [*before.named], before.waiting
    for message in span.input[len(found) :]:
        said: Message = message
        calls = parts_of(message, "tool_call")
        answered = [part.get("id") for part in parts_of(message, "tool_call_response")]
        place = _answered(message, waiting, find, is_known) if waiting and not (calls or answered) else None
        if calls:
            waiting = [*waiting, *calls]
        elif place is not None:
            call = waiting[place]
            waiting = [other for other in waiting if other is not call]
            said = {
                "role": "tool",
                "parts": [tool_response(call.get("id"), result_in_text(text_in(message)), {})],
            }
        elif answered:
            waiting = [call for call in waiting if call.get("id") not in answered]
        else:
            waiting = []
        found.append(said)
    return _Prompt(span.input, found, waiting)


def _answered(message: Message, waiting: Sequence[Part], find: _Find, is_known: bool) -> int | None:
    """Return the place of the waiting call that a text of a user answers; None where it answers none."""
    text = text_in(message)
    if message["role"] != "user" or not text:
        return None
    tools = [find(call) for call in waiting]
    for place, tool in enumerate(tools):
        if tool is not None and returned(tool, text):
            return place
    if is_known and tools[0] is None and isinstance(result_in_text(text), dict | list):
        return 0
    return None


def text_in(message: Message) -> str:
    """Return what a message says that is nothing but one text."""
    parts = message["parts"]
    said = parts[0].get("content") if len(parts) == 1 and parts[0]["type"] == "text" else None
    return said if isinstance(said, str) else ""


def returned(tool: NormalizedSpan, text: str) -> bool:
    """Tell whether a text is what an execution returned, or says what it failed with."""
    if tool.failed:
        error = tool.error_message or ""
        return len(error) >= _SHORTEST_ERROR and error in text
    if not tool.has_result or tool.result in (None, "", [], {}):
        return False
    result = response_of(tool.result)
    whole = {write_json(result), write_json({_KEY: result})}
    return write_json(result_in_text(text)) in whole or write_json(text) in whole
