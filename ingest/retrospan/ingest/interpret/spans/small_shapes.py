"""Small objects among the attributes of a span that are known by their shape: counts of tokens, parameters of a request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import cast

from retrospan.ingest.interpret.spans.exchange import OF_REQUESTS, RESPONSES, Reader, read_shape
from retrospan.ingest.interpret.spans.span_fields import whole
from retrospan.ingest.json_text import read_value

#: Names by which an object of counts is known, and how long one can be.
_COUNTS = (
    {"input_tokens", "output_tokens"},
    {"input", "output", "total"},
    {"inputTokens", "outputTokens"},
    {"prompt_tokens", "completion_tokens"},
    {"promptTokens", "completionTokens"},
    {"promptTokenCount", "candidatesTokenCount"},
)
_LONGEST_USAGE = 1_000
#: How a name ends that says of which type what stands beside it is: without it no entity is named.
TYPED = ".type"
_WORDS = re.compile(r"[._:/-]")
#: Keys of an object of parameters, and of what is none, and how long one can be.
_MODELS = ("model", "model_name", "model_id")
_PARAMETERS = frozenset(
    ("temperature", "stream", "top_p", "stop", "seed", "max_tokens", "max_completion_tokens", "tool_choice")
)
_OF_RESPONSES = frozenset((*RESPONSES, "usage", "id", "object", "content", "messages"))
_LONGEST_PARAMETERS = 20_000


def entity_named(attributes: Mapping[str, object], kind: str) -> str | None:
    """Return the name of the one thing among the attributes of which a type beside it says that it is a model, an agent or
    the like: `entity.2.name` beside an `entity.2.type` of `model.llm`."""
    named = {
        name
        for key, value in attributes.items()
        if key.endswith(TYPED) and isinstance(value, str) and kind in _WORDS.split(value)
        if isinstance(name := attributes.get(f"{key[: -len(TYPED)]}.name"), str) and name
    }
    return named.pop() if len(named) == 1 else None


def usage_by_shape(attributes: Mapping[str, object], read: Reader = read_value) -> dict[str, object] | None:
    """Return the first object of counts among which are those of the tokens of a request and of its answer; else the first
    that stands in another object."""
    told: list[dict[str, object]] = []
    for key, value in attributes.items():
        if isinstance(value, str):
            if value[:1] != "{" or not ("put" in value or "ompt" in value):
                continue
            if len(value) >= _LONGEST_USAGE and (OF_REQUESTS.search(key) or "okens" not in value):
                continue
            said = read_shape(value, read)
        else:
            said = value
        if _is_usage(said):
            return cast("dict[str, object]", said)
        if isinstance(said, dict) and not OF_REQUESTS.search(key):
            told.append(said)
    inside = (found for said in told if (found := _usage_inside(said)) is not None)
    return next(inside, None)


def _usage_inside(value: dict[str, object], depth: int = 2) -> dict[str, object] | None:
    """Return the first object of counts in another: not in a list, as one of messages, which tell of earlier answers."""
    for inner in value.values():
        if _is_usage(inner):
            return cast("dict[str, object]", inner)
        found = _usage_inside(inner, depth - 1) if depth and isinstance(inner, dict) else None
        if found is not None:
            return found
    return None


def _is_usage(said: object) -> bool:
    return (
        isinstance(said, dict)
        and any(pair <= said.keys() for pair in _COUNTS)
        and all(count is None or isinstance(count, int | float | dict) for count in said.values())
    )


def usage_beside(told: Iterable[Mapping[str, object]]) -> dict[str, object] | None:
    """Return the counts that one of several events tells, in its attributes or in an object among them; None where none
    does, or where they contradict each other."""
    found: list[dict[str, object]] = []
    for attributes in told:
        counts: dict[str, object] = {
            name: said for name, said in attributes.items() if whole(said) is not None
        }
        own = counts if any(pair <= counts.keys() for pair in _COUNTS) else usage_by_shape(attributes)
        if own is not None and own not in found:
            found.append(own)
    return found[0] if len(found) == 1 else None


def parameters_by_shape(attributes: Mapping[str, object], read: Reader) -> dict[str, object] | None:
    """Return the first object that holds the parameters of a request: the model's name and how it is to answer."""
    for value in attributes.values():
        if (
            isinstance(value, str)
            and value[:1] == "{"
            and len(value) < _LONGEST_PARAMETERS
            and "model" in value
        ):
            said = read_shape(value, read)
            if (
                isinstance(said, dict)
                and any(isinstance(said.get(name), str) for name in _MODELS)
                and (not said.keys().isdisjoint(_PARAMETERS) or _is_flat(said) or _has_tools(said))
                and said.keys().isdisjoint(_OF_RESPONSES)
            ):
                return said
    return None


def _has_tools(value: dict[str, object]) -> bool:
    """Tell whether an object says beside the model who provides it, and with which tools."""
    return "provider" in value and isinstance(value.get("tools"), list)


def _is_flat(value: dict[str, object]) -> bool:
    """Tell whether an object says which model, and nothing else than words and numbers beside it."""
    return "provider" in value and not any(isinstance(item, (dict, list)) for item in value.values())
