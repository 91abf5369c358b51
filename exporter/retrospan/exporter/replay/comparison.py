"""Whether a model says today what it said when the run was recorded. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple, cast

from retrospan.exporter.replay.wire.form import JSON, Form
from retrospan.schemas.bundle.canonical import canonical_request
from retrospan.schemas.bundle.difference import first_difference
from retrospan.schemas.bundle.form import ModelCall


class Compared(NamedTuple):
    """Two answers beside each other: the first field that differs, None if none does."""

    difference: str | None


def compared(form: Form, call: ModelCall, body: bytes) -> Compared | None:
    """Compare an answer with the recorded one; None if that cannot be told, as of a stream or of an answer that is not
    on record.
    """
    try:
        found = json.loads(body)
        if not isinstance(found, dict) or not call.answer:
            return None
        now = form.read("", form.as_request(cast(JSON, found)))
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    difference = first_difference(
        canonical_request(messages=call.answer), canonical_request(messages=now.messages)
    )
    return Compared(None if difference is None else difference.told("today"))
