"""Requests of DSPy, whose prompts and answers are fields in a text: what was asked, which tools ran, what they returned.

A field begins with a line `[[ ## name ## ]]`, as the instructions say. An agent (ReAct) asks for a tool in the fields
`next_tool_name` and `next_tool_args`; the next prompt tells it with what came of it, under `trajectory`, in fields with
numbers. The texts stay what was said; the executions are told by them, where no span tells of any. Without such
instructions a text of this form is what somebody pasted. Source: DSPy's `ChatAdapter` and `ReAct`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from retrospan.ingest.interpret.calls.calls import ModelCall, RequestedCall
from retrospan.ingest.interpret.messages.message import Message, parts_of, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.json_text import Unreadable, read_value
from retrospan.schemas.hashing import hash_of

_FIELD = re.compile(r"^\[\[ ## (\w+) ## \]\][ \t]*\n?", re.MULTILINE)
_MARK = "[[ ## "
#: How the instructions end the form of an answer.
_FORM = "[[ ## completed ## ]]"
#: What follows the last field of a prompt.
_ORDER = "\n\nRespond with the corresponding output fields"
#: A tool that ends the loop, and returns nothing.
_FINISH = "finish"
#: How what a tool raised is told.
_RAISED = re.compile(r"Execution error in \w+: ")
#: A member of a list, and how Python prints one that is an object.
_MEMBER = re.compile(r"^\[\d+\] «(.*?)»$", re.MULTILINE | re.DOTALL)
_PRINTED = ("{", "[")
#: Fields of an answer that are not what was asked for.
_BESIDE = ("reasoning", "completed")


@dataclass(frozen=True, slots=True)
class Asked:
    """A tool that an answer asks for: why, its name, its arguments as text."""

    thought: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Episode:
    """What a prompt tells: the fields that it is about, each tool that was asked for, and what each returned."""

    given: tuple[tuple[str, str], ...]
    asked: tuple[Asked, ...]
    returned: tuple[str, ...]

    def before(self) -> list[object]:
        """Return what stands for it up to the last tool that was asked for; [] where none was."""
        return _told(self, self.asked) if self.asked else []

    def after(self, asked: Asked) -> list[object]:
        """Return what stands for it with one more tool that is asked for."""
        return _told(self, (*self.asked, asked))


def _told(episode: Episode, asked: Sequence[Asked]) -> list[object]:
    steps = [[each.thought, each.tool, read_value(each.arguments)] for each in asked]
    return [list(map(list, episode.given)), steps, list(episode.returned[: len(asked) - 1])]


def fields_of(text: str) -> dict[str, str]:
    """Return the fields of a text by name, in order; none where it does not begin with one."""
    if not text.startswith(_MARK):
        return {}
    told = text.partition(_ORDER)[0]
    begins = [*_FIELD.finditer(told)]
    ends = [each.start() for each in begins[1:]] + [len(told)] * bool(begins)
    return {one[1]: told[one.end() : end].strip() for one, end in zip(begins, ends, strict=True)}


def episode_of(span: NormalizedSpan) -> Episode | None:
    """Return what the last message of a prompt tells in fields; None where it is another one."""
    fields = _fields_told(span, span.input) if span.input and span.input[-1]["role"] == "user" else {}
    if "trajectory" not in fields:
        return None
    given = tuple(takewhile(lambda field: field[0] != "trajectory", fields.items()))
    asked: list[Asked] = []
    returned: list[str] = []
    while (tool := fields.get(f"tool_name_{len(asked)}")) is not None:
        number = len(asked)
        asked.append(Asked(fields.get(f"thought_{number}", ""), tool, fields.get(f"tool_args_{number}", "")))
        returned.append(fields.get(f"observation_{number}", ""))
    return Episode(given, tuple(asked), tuple(returned))


def asked_in(span: NormalizedSpan) -> Asked | None:
    """Return the tool that an answer asks for in its fields."""
    fields = _fields_told(span, span.output)
    name = fields.get("next_tool_name")
    if not name:
        return None
    return Asked(fields.get("next_thought", ""), name, fields.get("next_tool_args", ""))


def answer_in(span: NormalizedSpan, text: str) -> str | None:
    """Return the one field of an answer that was asked for, the text itself where it is of another form; None where it asks
    for a tool."""
    fields = _fields_told(span, span.output)
    if fields.get("next_tool_name"):
        return None
    said = [value for name, value in fields.items() if name not in _BESIDE]
    return said[0] if len(said) == 1 else text


def question_in(span: NormalizedSpan, text: str) -> str:
    """Return what a prompt in fields is about, where that is one field and the text is this prompt; else the text itself."""
    episode = episode_of(span) if text.startswith(_MARK) else None
    asked = [said for name, said in episode.given if name != "history"] if episode is not None else []
    return asked[0] if len(asked) == 1 and text == text_of(span.input[-1]) else text


def _fields_told(span: NormalizedSpan, messages: Sequence[Message]) -> dict[str, str]:
    """Return the fields of the last message, where the instructions of a request say that there are any."""
    parts = messages[-1]["parts"] if messages else []
    first = parts[0].get("content") if parts else None
    if not isinstance(first, str) or not first.startswith(_MARK):
        return {}
    said = (part.get("content") for part in span.system)
    return fields_of(text_of(messages[-1])) if any(isinstance(t, str) and _FORM in t for t in said) else {}


def open_fields(tree: Tree) -> None:
    """Add the executions that the prompts of a run tell, in place, where no span and no call tells of any."""
    requests = [span for span in tree.spans if span.operation == "inference" and asked_in(span)]
    if not requests or any(span.operation == "tool" for span in tree.spans):
        return
    if any(parts_of(message, "tool_call") for span in requests for message in span.output):
        return
    tree.add([*_executions(tree, requests)])


def _returned(told: str) -> object:
    """Return what a tool returned: of a list each member is told in a line with its number."""
    members = _MEMBER.findall(told)
    numbered = "\n".join(f"[{number}] «{member}»" for number, member in enumerate(members, start=1))
    if not members or numbered != told:
        return read_value(told)
    return [*map(_member, members)]


def _member(told: str) -> object:
    read = read_repr(told) if told[:1] in _PRINTED else told
    return told if isinstance(read, Unreadable) else read


def _executions(
    tree: Tree, requests: Sequence[NormalizedSpan]
) -> Iterator[tuple[NormalizedSpan, NormalizedSpan]]:
    """Yield what each answer asked for, after its request, with what it returned: where a prompt of the run tells that."""
    returned: dict[str, str] = {}
    for span in tree.spans:
        episode = episode_of(span) if span.operation == "inference" else None
        if episode is not None and episode.asked:
            returned.setdefault(hash_of(episode.before()), episode.returned[-1])
    for span in requests:
        asked, episode = asked_in(span), episode_of(span)
        if asked is None or episode is None or asked.tool == _FINISH:
            continue
        told = returned.get(hash_of(episode.after(asked)))
        if told is None:
            continue
        raised = _RAISED.match(told) is not None
        yield (
            span,
            NormalizedSpan(
                sent=replace(
                    span.sent,
                    started_at=span.sent.done_at,
                    ended_at=0,
                    status="error" if raised else "unset",
                    attributes={},
                    events=[],
                    links=[],
                    logs=[],
                    loose=[],
                    strays=[],
                ),
                operation="tool",
                dialect=span.dialect,
                names=span.names,
                agent_name=span.agent_name,
                tool_name=asked.tool,
                arguments=read_value(asked.arguments),
                has_arguments=True,
                result=None if raised else _returned(told),
                has_result=not raised,
                failed=raised,
                error_message=told if raised else None,
                is_told=True,
            ),
        )


def asked_in_fields(tree: Tree, models: Sequence[ModelCall]) -> list[RequestedCall]:
    """Return the calls that answers in fields ask for, where no execution has a span of its own: such spans tell them."""
    if any(span.operation == "tool" and not span.is_told for span in tree.spans):
        return []
    found = ((call.ordinal, asked_in(call.span)) for call in models)
    return [
        RequestedCall(ordinal, None, asked.tool, read_value(asked.arguments))
        for ordinal, asked in found
        if asked is not None and asked.tool != _FINISH
    ]
