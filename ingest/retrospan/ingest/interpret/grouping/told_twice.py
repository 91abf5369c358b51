"""One turn in two traces: one is a single span with the whole turn; the other has its parts, below an empty root of that name.

Some instrumentations begin a turn twice. That both are one turn shows by what the first request was given and what the
last one answered, besides name, service, conversation and time; a hash stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.messages.message import Message
from retrospan.ingest.interpret.messages.provider_payloads import parse_answer, parse_request
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.schemas import semconv
from retrospan.schemas.hashing import hash_of

_AROUND = ("agent", "workflow")
#: What a span says that was given nothing, or returned nothing.
_NOTHING: tuple[object, ...] = (None, "", {}, [])


def told_whole(spans: Sequence[NormalizedSpan]) -> str:
    """Return the hash of the turn that the only span of a trace tells, '' where it tells none."""
    if len(spans) != 1 or spans[0].operation not in _AROUND or spans[0].sent.parent_span_id:
        return ""
    (span,) = spans
    given = parse_request(span.framework_input).messages
    answer = [] if span.framework_output in _NOTHING else parse_answer(span.framework_output)
    return _hash(span, given, answer)


def told_in_parts(spans: Sequence[NormalizedSpan], calls: Sequence[NormalizedSpan]) -> str:
    """Return the hash of the turn that the calls of a trace make, '' where its root tells something itself."""
    roots = [span for span in spans if not span.sent.parent_span_id]
    if len(roots) != 1 or roots[0].operation not in _AROUND:
        return ""
    (root,) = roots
    if root.framework_input not in _NOTHING or root.framework_output not in _NOTHING:
        return ""
    return _hash(root, calls[0].input, [] if calls[-1].failed else calls[-1].output)


def _hash(span: NormalizedSpan, given: Sequence[Message], answer: Sequence[Message]) -> str:
    asked = [_said(message) for message in given if message["role"] != "system"]
    told_by = [span.sent.scope, span.sent.resource.get(semconv.SERVICE_NAME), span.conversation]
    said = [*map(_said, answer)]
    return hash_of(["turn", *told_by, span.sent.name, asked, said]) if asked else ""


def _said(message: Message) -> list[object]:
    return [message["role"], [part for part in message["parts"] if part["type"] != "reasoning"]]
