"""One span's content in our vocabulary: the result of the general rules and of the span's dialect.

None means that the span does not have it. Nothing here depends on other spans.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from operator import attrgetter

from retrospan.ingest.interpret.messages.message import Message, Part
from retrospan.ingest.interpret.normalize.token_usage import TokenUsage
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.ingest.interpret.spans.vocabulary import OPENTELEMETRY, Vocabulary


@dataclass(slots=True)
class FrameworkNode:
    """A framework's node that a span runs in, such as a LangGraph node; `place` tells two executions of it apart."""

    name: str
    place: str | None
    step: int | None


@dataclass(frozen=True, slots=True)
class Task:
    """What the agent's own code calls a step: 6 of 9, "send the mail"."""

    step: int | None
    name: str | None
    total: int | None


@dataclass(slots=True, eq=False)
class NormalizedSpan:
    """A span's content, and the span as it was `sent`. Two are equal only if they are the same object."""

    sent: Span
    operation: str = "other"
    dialect: str = ""
    agent_name: str | None = None
    agent_version: str | None = None
    conversation: str | None = None
    user: str | None = None  # whom the agent works for
    provider: str | None = None
    request_model: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    previous_response_id: str | None = None
    stores_history: bool = False  # the API may keep the history itself, so that requests are only what is new
    parameters: dict[str, object] = field(default_factory=dict)
    system: list[Part] = field(default_factory=list)
    input: list[Message] = field(default_factory=list)
    output: list[Message] = field(default_factory=list)
    retold: list[Message] = field(default_factory=list)  # what its response says was said between the two
    counts_last: bool = False  # where there is such: what it counts is of its last request alone
    tool_definitions: object = None
    finish_reasons: list[str] = field(default_factory=list)
    tokens: TokenUsage = field(default_factory=TokenUsage)
    first_chunk_ms: float | None = None  # from the request to the first chunk of the answer
    prompt_name: str | None = None
    prompt_version: str | None = None
    query: str | None = None  # what was looked for
    data_source: str | None = None  # and where
    tool_name: str | None = None
    tool_call_id: str | None = None
    arguments: object = None
    has_arguments: bool = False
    result: object = None
    has_result: bool = False
    failed: bool = False
    interrupted: bool = False
    refused: bool = False  # somebody, or a policy, did not let it happen
    given_up: bool = False  # it was cancelled: it may have happened
    error_type: str | None = None
    error_message: str | None = None
    node: FrameworkNode | None = None
    is_node: bool = False  # the span of the node itself, not of something inside it
    task: Task | None = None
    asked: str | None = None  # what a person said, in a log record of theirs
    framework_input: object = None
    framework_output: object = None
    is_part: bool = False  # tells of the same request as a span above it
    is_thought: bool = False  # tells what a model said before the calls of the answer that is told next
    is_unsaid: bool = False  # its answer is told by others: by what ran inside its step, or a later prompt
    holds_requests: bool = False  # seemed one model call, and is told as several
    is_told: bool = False  # an act without a span of its own: another span tells of it
    is_of_several: bool = False  # such a request, of several that one span of a request tells: in its place
    state_before: dict[str, object] | None = None
    state_after: dict[str, object] | None = None
    states: bool = False  # tells of an agent's work by our conventions, whatever its operation
    names: Vocabulary = OPENTELEMETRY  # by which it was read

    @property
    def fields(self) -> SpanFields:
        """What was sent, to be read by the names that are known."""
        return SpanFields(self.sent, self.names)

    @property
    def is_unfinished(self) -> bool:
        """Whether nobody said that what it does has ended."""
        return self.sent.is_unfinished and not self.is_told

    @property
    def is_work(self) -> bool:
        """Tell whether the span is part of what a run is made of: others alone are not.

        An open span may say what it does only when it ends. Until then who instruments it tells whether it is an agent's.
        """
        return self.operation != "other" or self.states or (self.sent.is_open and self.dialect != "")

    def copy(self) -> NormalizedSpan:
        """Return a span that can be changed without changing this one; what it holds is shared."""
        return NormalizedSpan(*_FIELDS(self))


_FIELDS = attrgetter(*(each.name for each in fields(NormalizedSpan)))
