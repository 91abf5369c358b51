"""A request with the fork's changes in it: other instructions, other fields of the body. Pure."""

from __future__ import annotations

import json
from typing import cast

from retrospan.exporter.replay.conditions import Edits
from retrospan.exporter.replay.wire.form import JSON, Form


def rewritten(form: Form, body: bytes, edits: Edits) -> bytes:
    """Return the body of a request with the changes, in the provider's form."""
    found = cast(JSON, json.loads(body))
    if edits.prompt is not None:
        form.instruct(found, edits.prompt)
    for path, value in edits.request.items():
        put(found, path, value)
    return json.dumps(found, ensure_ascii=False).encode()


def put(body: JSON, path: str, value: object) -> None:
    """Put a value under a path of names with dots between them; objects on the way are made."""
    *before, last = path.split(".")
    for name in before:
        inner = body.get(name)
        if not isinstance(inner, dict):
            inner = body[name] = {}
        body = cast(JSON, inner)
    body[last] = value
