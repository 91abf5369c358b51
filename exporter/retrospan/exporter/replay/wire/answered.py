"""Reads what a model really answered out of the provider's own body, in the form of a record. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from retrospan.exporter.replay.wire.form import JSON, Answer, Choice, Form, dicts
from retrospan.schemas.bundle.form import Message


@dataclass(frozen=True, slots=True)
class _Names:
    """Where a form's answers hold what: the id, the model, the choices and why each ended, the counts of tokens by our
    names.
    """

    id: str
    model: str
    choices: str
    reason: str
    counts: str
    tokens: Mapping[str, str]


_NAMES = {
    "openai chat": _Names(
        "id", "model", "choices", "finish_reason", "usage",
        {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"},
    ),
    "openai responses": _Names(
        "id", "model", "", "status", "usage", {"input_tokens": "input_tokens", "output_tokens": "output_tokens"}
    ),
    "anthropic messages": _Names(
        "id", "model", "", "stop_reason", "usage", {"input_tokens": "input_tokens", "output_tokens": "output_tokens"}
    ),
    "gemini": _Names(
        "responseId", "modelVersion", "candidates", "finishReason", "usageMetadata",
        {"input_tokens": "promptTokenCount", "output_tokens": "candidatesTokenCount"},
    ),
    "bedrock converse": _Names(
        "", "", "", "stopReason", "usage", {"input_tokens": "inputTokens", "output_tokens": "outputTokens"}
    ),
}  # fmt: skip
#: Of Anthropic's counts: ours hold what came from a cache and what was written to one as well.
_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as a record holds it."""

    messages: tuple[Message, ...]
    id: str | None
    model: str | None
    reasons: tuple[str, ...]
    usage: Mapping[str, int]

    def as_answer(self, model: str) -> Answer:
        """Return it as it is given a wire form, a choice for each message."""
        choices = tuple(
            Choice(tuple(cast("list[JSON]", each["parts"])), self.reasons[at] if at < len(self.reasons) else None)
            for at, each in enumerate(self.messages)
        )  # fmt: skip
        return Answer(self.id or "live", self.model or model, 0, choices, self.usage)


def answered(form: Form, body: bytes) -> Answered | None:
    """Return what an answer of status 200 says; None for what is not one of this form."""
    try:
        found = json.loads(body)
        messages = form.read("", form.as_request(found)).messages
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    names = _NAMES[form.name]
    choices = dicts(found.get(names.choices)) if names.choices else [found]
    counts = found.get(names.counts)
    counts = cast(JSON, counts) if isinstance(counts, dict) else {}
    usage = {
        ours: counts[theirs] for ours, theirs in names.tokens.items() if isinstance(counts.get(theirs), int)
    }
    for name in _CACHED:
        if "input_tokens" in usage and isinstance(counts.get(name), int):
            usage["input_tokens"] += counts[name]
    return Answered(
        tuple(messages),
        _text(found, names.id),
        _text(found, names.model),
        tuple(str(each[names.reason]) for each in choices if each.get(names.reason)),
        usage,
    )


def _text(found: JSON, name: str) -> str | None:
    value = found.get(name) if name else None
    return value if isinstance(value, str) else None
