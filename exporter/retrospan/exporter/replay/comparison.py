"""Whether a model says today what it said when the run was recorded. Pure."""

from __future__ import annotations

import json
from typing import cast

from retrospan.exporter.replay.wire.form import JSON
from retrospan.exporter.replay.wire.forms import FORMS
from retrospan.schemas.bundle.canonical import canonical_request
from retrospan.schemas.bundle.difference import first_difference
from retrospan.schemas.bundle.form import ModelCall

#: Where an answer stands in each form, as a message that a request may hold.
_NAMES = {form.name: form for form in FORMS}


def difference_of_answers(form: str, call: ModelCall, body: bytes) -> str | None:
    """Return the first field in which an answer differs from the recorded one; None if none does, or it is streamed."""
    try:
        found = json.loads(body)
    except ValueError:
        return None
    if not isinstance(found, dict) or not call.answer:
        return None
    said = _said(form, cast(JSON, found))
    if said is None:
        return None
    now = _NAMES[form].read("", said)
    recorded = canonical_request(messages=call.answer)
    difference = first_difference(recorded, canonical_request(messages=now.messages))
    return None if difference is None else difference.told().replace("asked", "today", 1)


def _said(form: str, answer: JSON) -> JSON | None:
    """Return a request that holds nothing but the answer."""
    try:
        if form == "openai chat":
            return {"messages": [choice["message"] for choice in answer["choices"]]}
        if form == "openai responses":
            return {"input": answer["output"]}
        if form == "anthropic messages":
            return {"messages": [{"role": "assistant", "content": answer["content"]}]}
        if form == "gemini":
            return {"contents": [candidate["content"] for candidate in answer["candidates"]]}
        return {"messages": [answer["output"]["message"]]}
    except (KeyError, TypeError):
        return None
