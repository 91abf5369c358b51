"""Small objects among the attributes of a span that are known by their shape: counts of tokens, parameters of a request."""

from __future__ import annotations

from collections.abc import Mapping

from retrospan.ingest.interpret.spans.exchange import RESPONSES, Reader, read_shape
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
#: Keys of an object of parameters, and of what is none, and how long one can be.
_MODELS = ("model", "model_name", "model_id")
_PARAMETERS = frozenset(
    ("temperature", "stream", "top_p", "stop", "seed", "max_tokens", "max_completion_tokens", "tool_choice")
)
_OF_RESPONSES = frozenset((*RESPONSES, "usage", "id", "object", "content", "messages"))
_LONGEST_PARAMETERS = 20_000


def usage_by_shape(attributes: Mapping[str, object], read: Reader = read_value) -> dict[str, object] | None:
    """Return the first object of counts among which are those of the tokens of a request and of its answer."""
    for value in attributes.values():
        if isinstance(value, str):
            if value[:1] != "{" or len(value) >= _LONGEST_USAGE or not ("put" in value or "ompt" in value):
                continue
            said = read_shape(value, read)
        else:
            said = value
        if (
            isinstance(said, dict)
            and any(pair <= said.keys() for pair in _COUNTS)
            and all(count is None or isinstance(count, int | float | dict) for count in said.values())
        ):
            return said
    return None


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
                and (not said.keys().isdisjoint(_PARAMETERS) or _is_flat(said))
                and said.keys().isdisjoint(_OF_RESPONSES)
            ):
                return said
    return None


def _is_flat(value: dict[str, object]) -> bool:
    """Tell whether an object says which model, and nothing else than words and numbers beside it."""
    return "provider" in value and not any(isinstance(item, (dict, list)) for item in value.values())
