"""Redacts what is compared with a record, and what is recorded beside it, in the same way as the record was redacted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast

from retrospan.schemas.bundle.form import Call, Json, ModelCall, RunRecord

#: Takes out of JSON text what a redaction takes out.
Redact = Callable[[str], str]
Value = TypeVar("Value")
#: What was said, in the calls of models and in those of tools.
_OF_MODELS, _OF_TOOLS = ("system", "messages", "tools", "answer"), ("arguments", "result")


def redactor(choice: str) -> Redact | None:
    """Return what takes out what a redaction takes out: `off` (None), `secrets`, `all` or a TOML file. Raises
    ConfigError.
    """
    if choice == "off":
        return None
    from retrospan.exporter.delivery.cleaning import chosen_rules
    from retrospan.schemas.redaction.matching import Matcher, Taken

    rules = chosen_rules(choice)
    if rules is None:
        return None
    matcher = Matcher(rules)
    return lambda text: matcher.text(text, "", Taken())


def redacted(value: Value, redact: Redact) -> Value:
    """Return a JSON value without what is to be taken out."""
    return cast(Value, json.loads(redact(json.dumps(value, ensure_ascii=False))))


def redacted_call(call: Call, redact: Redact) -> Call:
    """Return a call without what is to be taken out of what was said in it."""
    names = _names(call)
    said = {name: getattr(call, name) for name in names}
    message = None if call.error is None else call.error.message
    cleaned = redacted({**said, "message": message}, redact)
    error = (
        None if call.error is None else replace(call.error, message=cast("str | None", cleaned["message"]))
    )
    made = {name: _as_it_was(cleaned[name], said[name]) for name in names}
    return replace(call, error=error, **cast("dict[str, Any]", made))


def _as_it_was(value: Json, before: Json) -> Json:
    return tuple(cast("list[Json]", value)) if isinstance(before, tuple) else value


def rules_of(run: RunRecord) -> str:
    """Return which redaction a run looks like: `all` if something about persons was taken out of it, `off` if it holds
    secrets, else `secrets`.
    """
    from retrospan.schemas.redaction.builtin import PERSONAL

    text = json.dumps(
        [[getattr(call, name) for name in _names(call)] for call in run.calls], ensure_ascii=False
    )
    if any(f"[redacted:{rule}]" in text for rule in PERSONAL):
        return "all"
    redact = redactor("secrets")
    assert redact is not None
    return "secrets" if all(redacted_call(call, redact) == call for call in run.calls) else "off"


def _names(call: Call) -> tuple[str, ...]:
    return _OF_MODELS if isinstance(call, ModelCall) else _OF_TOOLS
