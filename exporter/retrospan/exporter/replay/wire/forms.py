"""Which wire form a request is in, and the bytes that answer it. Pure."""

from __future__ import annotations

import json
from typing import cast

from retrospan.exporter.replay.wire import (
    anthropic_messages,
    bedrock_converse,
    gemini,
    openai_chat,
    openai_responses,
)
from retrospan.exporter.replay.wire.form import JSON, Answer, Asked, Cut, Form, Refusal, Reply, dumped
from retrospan.schemas.bundle.sameness import MAX_REQUEST_DEPTH, may_nest_deeper, nests_deeper

#: In the order in which they are tried.
FORMS = (
    openai_chat.FORM,
    openai_responses.FORM,
    anthropic_messages.FORM,
    gemini.FORM,
    bedrock_converse.FORM,
)
#: Tells the clients of OpenAI and Anthropic not to try again: an error was recorded after all their tries.
_ONCE = (("x-should-retry", "false"),)
_JSON_TYPE = "application/json"


def form_of(host: str, path: str) -> Form | None:
    """Return the form that is spoken at an address, None where none is known."""
    return next((form for form in FORMS if form.is_spoken_at(host, path)), None)


def read_request(form: Form, path: str, body: bytes) -> Asked | None:
    """Return what a request asks for; None for a body that is not a JSON object, or nested deeper than any is meant."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    if may_nest_deeper(body, MAX_REQUEST_DEPTH) and nests_deeper(cast(JSON, found), MAX_REQUEST_DEPTH):
        return None
    return form.read(path, cast(JSON, found))


def reply_of(form: Form, answer: Answer, asked: Asked, cut: Cut | None = None) -> Reply:
    """Return the answer in the form's bytes, streamed where the request asks for that; a stream that was cut has no
    end.
    """
    if cut is not None:
        return Reply(200, form.stream_type, _without_end(form, [*form.stream(answer, asked)]), (), cut)
    if asked.streamed:
        return Reply(200, form.stream_type, tuple(form.stream(answer, asked)))
    return Reply(200, _JSON_TYPE, (dumped(form.whole(answer, asked)).encode(),))


def _without_end(form: Form, chunks: list[bytes]) -> tuple[bytes, ...]:
    """Return the chunks of a stream up to the last that brings a piece of the answer."""
    pieces = [place for place, chunk in enumerate(chunks) if form.piece and form.piece in chunk]
    return tuple(chunks[: pieces[-1] + 1 if pieces else -1])


def refusal_reply(form: Form, refusal: Refusal) -> Reply:
    """Return an error in the form's bytes."""
    return Reply(refusal.status, _JSON_TYPE, (dumped(form.refuse(refusal)).encode(),), _ONCE)
