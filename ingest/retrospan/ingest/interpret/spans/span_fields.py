"""Where a span's fields may lie: its own attributes first, then those of its details events and log records."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from retrospan.ingest.interpret.spans.exchange import exchange_by_keys, exchange_by_values
from retrospan.ingest.interpret.spans.span import Attributes, Span
from retrospan.ingest.json_text import read_value

#: Any attribute whose own name, after its family's, says that it holds what a span was given, or what it returned.
INPUT, OUTPUT = "*input", "*output"
_ENDINGS = {
    INPUT: ("input", "inputs", "tool.call.arguments", "arguments"),
    OUTPUT: ("output", "outputs", "tool.call.result", "result"),
}
#: A whole exchange with a model, under whatever names.
EXCHANGE = "*exchange"
#: Found by their shape, and only where no key says more.
_BY_SHAPE = (INPUT, OUTPUT, EXCHANGE)
_BOUNDARY = ".:_/"

#: What instrumentations write in the place of content that they must not send.
_TAKEN_OUT = ("<REDACTED>", "__REDACTED__")

DETAILS_EVENT = "gen_ai.client.inference.operation.details"


class SpanFields:
    """The attribute maps of one span, in order of precedence."""

    def __init__(self, span: Span) -> None:
        self.all: list[Attributes] = [span.attributes]
        self.all += [record.attributes for record in span.logs if record.event == DETAILS_EVENT]
        self.all += [event.attributes for event in span.events if event.name == DETAILS_EVENT]

    def any(self, *keys: str) -> object:
        """Return the value of the first key that has one, wherever it lies."""
        for key in keys:
            if key in _ENDINGS:
                found = self._ending(_ENDINGS[key])
                if found is not None:
                    return found
            if key == EXCHANGE and self.exchange is not None:
                return self.exchange
            for place in self.all:
                value = place.get(key)
                if value is not None and not (isinstance(value, str) and value in _TAKEN_OUT):
                    return value
        return None

    def each(self, *keys: str) -> Iterator[object]:
        """Yield the value of each key that has one; those that any attribute may hold only where no other has."""
        found = False
        for key in keys:
            value = self.any(key) if not found or key not in _BY_SHAPE else None
            if value is not None:
                found = True
                yield value

    @cached_property
    def exchange(self) -> dict[str, object] | None:
        """The whole request and its response that the attributes hold; None where they do not."""
        return exchange_by_keys(self.all[0])

    def holds_exchange(self) -> bool:
        """Tell whether there is an exchange, also one that only its values show: to be asked where no name tells more."""
        if self.exchange is None:
            self.exchange = exchange_by_values(self.all[0])
        return self.exchange is not None

    def _ending(self, endings: tuple[str, ...]) -> object:
        """Return the first text, list or object under a key that ends so."""
        for ending in endings:
            for place in self.all:
                for key, value in place.items():
                    if (
                        key.endswith(ending)
                        and value
                        and isinstance(value, str | list | dict)
                        and value not in _TAKEN_OUT
                        and (len(key) == len(ending) or key[-len(ending) - 1] in _BOUNDARY)
                    ):
                        return value
        return None

    def has(self, key: str) -> bool:
        return any(key in place for place in self.all)

    def text(self, *keys: str) -> str | None:
        """Return the first text that is not empty; JSON-quoted text is unquoted."""
        for key in keys:
            for place in self.all:
                value = place.get(key)
                if isinstance(value, str) and value.strip('"'):
                    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
        return None

    def count(self, *keys: str) -> int | None:
        """Return the first whole number from 0 on, also where it travels as text."""
        return next((number for key in keys if (number := whole(self.any(key))) is not None), None)

    def value(self, *keys: str) -> object:
        """Return the first value, JSON text read."""
        return read_value(self.any(*keys))

    def under(self, prefix: str) -> Iterator[tuple[str, object]]:
        """Yield (rest of the key, value) of the attributes whose key starts so."""
        for place in self.all:
            for key, value in place.items():
                if key.startswith(prefix):
                    yield key[len(prefix) :], value


def whole(value: object) -> int | None:
    """Return a whole number from 0 on, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    if isinstance(value, float) and value.is_integer() and value >= 0:
        return int(value)
    if isinstance(value, str) and value.strip('"').isdecimal() and len(value) < 20:
        return int(value.strip('"'))
    return None
