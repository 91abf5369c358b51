"""A request that no span of its own tells, made of the span that tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan


def told_request(
    span: NormalizedSpan, at: int, given: Sequence[Message], answer: Sequence[Message]
) -> NormalizedSpan:
    """Return the request that a span tells, asked at `at` (Unix nanoseconds): nothing says when it was answered, and its
    tokens are not known.
    """
    return NormalizedSpan(
        sent=replace(span.sent, started_at=at, ended_at=0),
        operation="inference",
        dialect=span.dialect,
        names=span.names,
        agent_name=span.agent_name,
        conversation=span.conversation,
        provider=span.provider,
        request_model=span.request_model,
        system=span.system,
        input=[*given],
        output=[*answer],
        is_told=True,
    )
