"""A request with the fork's changes in it: other instructions, other fields of the body. Pure."""

from __future__ import annotations

import json
from typing import Any, cast

from retrospan.exporter.replay.conditions import Edits
from retrospan.exporter.replay.wire.form import JSON, Form, dicts


def rewritten(form: Form, body: bytes, edits: Edits) -> bytes:
    """Return the body of a request with the changes, in the provider's form."""
    found = cast(JSON, json.loads(body))
    if edits.prompt is not None:
        _instruct(form.name, found, edits.prompt)
    for path, value in edits.request.items():
        put(found, path, value)
    return json.dumps(found, ensure_ascii=False).encode()


def _instruct(form: str, body: JSON, prompt: str) -> None:
    if form == "anthropic messages":
        body["system"] = prompt
    elif form == "gemini":
        body.pop("system_instruction", None)
        body["systemInstruction"] = {"parts": [{"text": prompt}]}
    elif form == "bedrock converse":
        body["system"] = [{"text": prompt}]
    elif form == "openai responses":
        body["instructions"] = prompt
        asked = body.get("input")
        if isinstance(asked, list):
            body["input"] = _without_head(asked)
    else:
        body["messages"] = [
            {"role": "system", "content": prompt},
            *_without_head(dicts(body.get("messages"))),
        ]


def _without_head(messages: list[Any]) -> list[Any]:
    """Return messages without those at the head that instruct."""
    at = 0
    while (
        at < len(messages)
        and isinstance(messages[at], dict)
        and messages[at].get("role") in ("system", "developer")
    ):
        at += 1
    return messages[at:]


def put(body: JSON, path: str, value: object) -> None:
    """Put a value under a path of names with dots between them; objects on the way are made."""
    *before, last = path.split(".")
    for name in before:
        inner = body.get(name)
        if not isinstance(inner, dict):
            inner = body[name] = {}
        body = cast(JSON, inner)
    body[last] = value
