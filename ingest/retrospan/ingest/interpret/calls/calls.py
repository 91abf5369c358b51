"""Model calls and tool calls of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from retrospan.ingest.interpret.messages.message import Message, Part, repeated
from retrospan.ingest.interpret.messages.tool_results import error_of, told_error
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan


@dataclass(slots=True)
class ModelCall:
    ordinal: int
    span: NormalizedSpan
    input: list[Message]
    history: str
    input_values: list[int] = field(
        default_factory=list
    )  # numbers of the input messages among the run's values
    output_values: list[int] = field(default_factory=list)  # of the output messages


@dataclass(slots=True)
class RequestedCall:
    """A tool call that a model asked for."""

    by: int
    call_id: str | None
    name: str
    arguments: object
    taken: bool = False
    result: Part | None = None  # as the prompt says that follows the asking, where an id does not tell it


@dataclass(slots=True, eq=False)
class ToolCall:
    """One execution of a tool, or a call that was asked for and has none on record."""

    name: str
    span: NormalizedSpan | None
    asked: RequestedCall | None = None
    call_id: str | None = None
    arguments: object = None
    has_arguments: bool = False
    result: object = None
    result_source: str | None = None
    status: str = "ok"
    matched_by_id: bool = False
    is_unclear: bool = False  # agents asked alike, and nothing tells for which of them it ran

    @property
    def error_message(self) -> str | None:
        """What is known of why it failed: what the span says, else what it returned; None of one that went well."""
        if self.status == "ok":
            return None
        said = self.span.error_message if self.span is not None else None
        return said or (told_error(self.result, self.name) if self.span is None else error_of(self.result))


@dataclass(slots=True)
class Calls:
    models: list[ModelCall] = field(default_factory=list)
    tools: list[ToolCall] = field(default_factory=list)


def messages_once(models: Iterable[ModelCall]) -> Iterator[tuple[ModelCall, Message]]:
    """Yield the messages that calls were given, each with the first of them that was."""
    seen: set[int] = set()
    before: list[Message] = []
    for call in models:
        new = call.input[repeated(before, call.input) :]
        before = call.input
        for message in new:
            if id(message) not in seen:
                seen.add(id(message))
                yield call, message
