"""A run told in order: spans by the conventions, and the canonical rows that the interpreter makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from spans import read_run

from retrospan.ingest.interpret.rows.lists import LISTS, Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.service.dispatch import write_rows
from retrospan.ingest.interpret.spans.span import Event, Span
from retrospan.ingest.prices.history import NO_PRICES
from retrospan.schemas import attributes, semconv
from retrospan.schemas.store import Store

Ask = Callable[..., list[dict[str, Any]]]  # the `ask` fixture: SELECT and parameters to rows
Message = dict[str, Any]

MS = 1_000_000
SECOND = 1_000 * MS
START = 1_780_000_000 * SECOND  # 2026-05-28


def text(role: str, content: str) -> Message:
    """Return a message that says one thing."""
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def calls(name: str, /, call_id: str | None = None, **arguments: object) -> Message:
    """Return an assistant's message that asks for a tool."""
    named = {} if call_id is None else {"id": call_id}
    return {
        "role": "assistant",
        "parts": [{"type": "tool_call", **named, "name": name, "arguments": arguments}],
    }


def gives(response: object, call_id: str | None = None) -> Message:
    """Return a tool's message."""
    named = {} if call_id is None else {"id": call_id}
    return {"role": "tool", "parts": [{"type": "tool_call_response", **named, "response": response}]}


class Story:
    """One run of an agent. Each act is a span that begins a `beat` after the one before; `rows()` are those of the run."""

    def __init__(
        self,
        run_id: str,
        *,
        generation: int = 1,
        tenant: str = "default",
        started_at: int = START,
        agent: str = "orla",
        version: str = "1.0",
        conversation: str | None = None,
        beat: int = SECOND,
        takes: int = SECOND // 2,
    ) -> None:
        self.run_id, self.generation, self.tenant = run_id, generation, tenant
        self.started_at, self.agent, self.beat, self.takes = started_at, agent, beat, takes
        self.prices = NO_PRICES
        self.history: list[Message] = []
        self.resource: dict[str, object] = {}
        named = {
            semconv.AGENT_NAME: agent,
            semconv.AGENT_VERSION: version,
            semconv.CONVERSATION_ID: conversation,
        }
        self.root = self._span(f"invoke_agent {agent}", "invoke_agent", named)
        self.root.started_at = started_at
        self.acts: list[Span] = []
        self.has_root = True  # False: it was never sent

    def hear(self, *messages: Message) -> None:
        """Add messages that the next model call reads besides what was said before."""
        self.history += messages

    def model(
        self,
        answer: Message | None,
        *,
        system: str = "be brief",
        model: str = "m-1",
        agent: str | None = None,
        error: str | None = None,
        more: Mapping[str, object] | None = None,
    ) -> Span:
        """Add a model call over all that was said; `more` are further attributes, None takes one away."""
        said: dict[str, object] = {
            semconv.AGENT_NAME: agent or self.agent,
            semconv.PROVIDER_NAME: "acme",
            semconv.REQUEST_MODEL: model,
            semconv.RESPONSE_MODEL: model,
            semconv.SYSTEM_INSTRUCTIONS: [{"type": "text", "content": system}] if system else None,
            semconv.INPUT_MESSAGES: list(self.history),
            semconv.OUTPUT_MESSAGES: [answer] if answer is not None else None,
            semconv.USAGE_INPUT_TOKENS: 10,
            semconv.USAGE_OUTPUT_TOKENS: 2,
        }
        if answer is not None:
            self.history.append(answer)
        return self._act(f"chat {model}", "chat", {**said, **(more or {})}, error)

    def tool(
        self,
        name: str,
        arguments: object,
        result: object,
        *,
        heard: bool = True,
        agent: str | None = None,
        error: str | None = None,
        call_id: str | None = None,
        more: Mapping[str, object] | None = None,
    ) -> Span:
        """Add an executed tool call whose result the next model call reads, where it is `heard`."""
        said: dict[str, object] = {
            semconv.AGENT_NAME: agent or self.agent,
            semconv.TOOL_NAME: name,
            semconv.TOOL_CALL_ID: call_id,
            semconv.TOOL_CALL_ARGUMENTS: arguments,
            semconv.TOOL_CALL_RESULT: result,
        }
        if heard and result is not None:
            self.history.append(gives(result, call_id))
        return self._act(f"execute_tool {name}", "execute_tool", {**said, **(more or {})}, error)

    def retrieval(self, store: str, documents: Mapping[str, str]) -> Span:
        """Add a retrieval that returned documents, by their ids."""
        found = [{"id": name, "content": content} for name, content in documents.items()]
        said = {semconv.DATA_SOURCE_ID: store, "gen_ai.retrieval.documents": found}
        return self._act(f"retrieval {store}", "retrieval", said, None)

    def state(self, step: int, **state: object) -> None:
        """Say in which state the step began."""
        self._put(step, attributes.STATE_BEFORE, state)

    def state_after(self, step: int, **state: object) -> None:
        """Say in which state the step ended."""
        self._put(step, attributes.STATE_AFTER, state)

    def edge(self, subject: str, relation: str, object_: str, *, step: int = 1) -> None:
        """Let a step state what came from what."""
        self.event(
            attributes.DERIVATION,
            step,
            {attributes.RELATION: relation, attributes.SUBJECT: subject, attributes.OBJECT: object_},
        )

    def event(self, name: str, step: int, said: Mapping[str, object], at: int | None = None) -> None:
        """Add an event to the span of a step, by default at its beginning."""
        span = self.acts[step - 1]
        span.events.append(
            Event(name=name, time_ns=span.started_at if at is None else at, attributes=_plain(said))
        )

    def rows(self) -> Rows:
        """Return what the interpreter makes of the run, by the `prices` of the story."""
        return rows_of(
            read_run(self.run_id, [self.root, *self.acts] if self.has_root else self.acts),
            self.tenant,
            self.generation,
            None,
            self.prices,
        )

    def tell(self, store: Store) -> Story:
        """Write all rows."""
        tell(store, self)
        return self

    def _act(self, name: str, operation: str, said: Mapping[str, object], error: str | None) -> Span:
        span = self._span(name, operation, said)
        span.started_at = self.started_at + (len(self.acts) + 1) * self.beat
        span.ended_at = span.started_at + self.takes
        span.parent_span_id = self.root.span_id
        if error is not None:
            kind, _, message = error.partition(": ")
            span.status, span.status_message = "error", message
            span.attributes = {**span.attributes, semconv.ERROR_TYPE: kind}
        self.acts.append(span)
        self.root.ended_at = span.started_at + self.beat
        return span

    def _span(self, name: str, operation: str, said: Mapping[str, object]) -> Span:
        number = len(self.acts) + 1 if hasattr(self, "acts") else 0
        return Span(
            trace_id=self.run_id,
            span_id=f"{number:016x}" if number else "f" * 16,
            parent_span_id="",
            name=name,
            kind=1,
            flags=0,
            started_at=0,
            ended_at=self.started_at + self.beat,
            status="unset",
            status_message="",
            scope="story",
            scope_version="",
            attributes={semconv.OPERATION_NAME: operation, **_plain(said)},
            resource=self.resource,
            arrived_at=self.started_at,
            sequence=1,
        )

    def _put(self, step: int, key: str, value: object) -> None:
        span = self.acts[step - 1]
        span.attributes = {**span.attributes, **_plain({key: value})}


def tell(store: Store, *stories: Story) -> None:
    """Write the rows of runs together, which is quicker than one after the other."""
    all_rows = Rows()
    for story in stories:
        rows = story.rows()
        for table in LISTS:
            getattr(all_rows, table).extend(getattr(rows, table))
    write_rows(store, all_rows)


def _plain(said: Mapping[str, object]) -> dict[str, object]:
    """Return attributes as a span carries them: what has something inside is JSON, what is None is not said."""
    return {
        key: json.dumps(value) if isinstance(value, list | dict) else value
        for key, value in said.items()
        if value is not None
    }
