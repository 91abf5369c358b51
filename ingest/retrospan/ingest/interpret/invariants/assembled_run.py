"""A run as assembled so far: what the invariants examine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from retrospan.ingest.interpret.calls.calls import Calls, ModelCall
from retrospan.ingest.interpret.calls.returned_answers import Answer
from retrospan.ingest.interpret.messages.message import Message, Part, parts_of
from retrospan.ingest.interpret.steps.context_use import ContextUse
from retrospan.ingest.interpret.tree.tree import Tree

#: Operations of spans around the acts of a run.
AROUND = ("agent", "workflow")
#: As much of what a framework returned is looked through.
LEAVES = 2_000


class Told(NamedTuple):
    """A message with the calls and the results in it."""

    message: Message
    calls: list[Part]
    results: list[Part]


@dataclass(slots=True)
class Prompt:
    """What one call was given beyond the call that it goes on from. `after` is None where it goes on from none.

    `told` is the same with the calls and the results in it, of messages that have any or are a tool's; `asked` are the
    calls that the answer asks for.
    """

    call: ModelCall
    after: ModelCall | None
    new: Sequence[Message]
    told: list[Told]
    asked: list[Part]


@dataclass(slots=True)
class AssembledRun:
    """`asks` says that its models ask for tools as APIs let them, not in words of their own."""

    tree: Tree
    calls: Calls
    context: Sequence[ContextUse]
    outcome: str
    answer: Answer | None
    prompts: list[Prompt] = field(init=False)
    asks: bool = field(init=False)

    def __post_init__(self) -> None:
        models = self.calls.models
        self.prompts = []
        for call, use in zip(models, self.context, strict=True):
            after = models[use.goes_on - 1] if use.goes_on and use.lost == [] else None
            new = call.input[len(after.input) :] if after else call.input
            asked = [part for message in call.span.output for part in parts_of(message, "tool_call")]
            self.prompts.append(Prompt(call, after, new, _told(new), asked))
        self.asks = any(prompt.asked for prompt in self.prompts)


def _told(messages: Sequence[Message]) -> list[Told]:
    """Return the messages that ask for tools or tell what tools returned, in order."""
    found: list[Told] = []
    for message in messages:
        kinds = [part["type"] for part in message["parts"]]
        calls = parts_of(message, "tool_call") if "tool_call" in kinds else []
        results = parts_of(message, "tool_call_response") if "tool_call_response" in kinds else []
        if calls or results or message["role"] == "tool":
            found.append(Told(message, calls, results))
    return found


def leaves_of(value: object) -> Iterator[tuple[str, object]]:
    """Yield what stands in a value at any depth and has no parts, with its key."""
    waiting: list[tuple[str, object]] = [("", value)]
    for _ in range(LEAVES):
        if not waiting:
            return
        key, at = waiting.pop()
        if isinstance(at, dict):
            waiting += ((str(name), inner) for name, inner in at.items())
        elif isinstance(at, list):
            waiting += ((key, inner) for inner in at)
        else:
            yield key, at
