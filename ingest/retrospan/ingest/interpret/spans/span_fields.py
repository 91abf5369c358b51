"""Where a span's fields may lie: its own attributes first, then those of its details events and log records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from math import inf
from typing import cast

from retrospan.ingest.interpret.spans.chunks import whole_response
from retrospan.ingest.interpret.spans.exchange import (
    exchange_by_keys,
    exchange_by_values,
    request_by_shape,
    response_by_shape,
)
from retrospan.ingest.interpret.spans.facts import EXCEPTIONS, TAKEN_OUT
from retrospan.ingest.interpret.spans.json_texts import JsonTexts
from retrospan.ingest.interpret.spans.name_words import MODEL, WORDS, words_of
from retrospan.ingest.interpret.spans.span import Attributes, Span
from retrospan.ingest.interpret.spans.span_names import names_of, names_of_span
from retrospan.ingest.interpret.spans.told_exchanges import exchange_in_events
from retrospan.ingest.interpret.spans.vocabulary import (
    EXCHANGE,
    INPUT,
    INPUT_TOKENS,
    OUTPUT,
    OUTPUT_TOKENS,
    REQUEST,
    RESPONSE,
    Vocabulary,
)
from retrospan.schemas import semconv

#: Found by their shape, and only where no key says more.
_BY_SHAPE = frozenset((INPUT, OUTPUT, EXCHANGE, REQUEST, RESPONSE))

_EMPTY = ("{}", "[]")
#: What says that nothing was given, or what of something else is called an input (`human_input`).
_NO_INPUT = ("[]", "True", "False", "true", "false", "None", "null")

DETAILS_EVENT = "gen_ai.client.inference.operation.details"

#: No call counts so many tokens or anything else; the sums of a run, however long, fit their columns.
MOST_COUNT = 10**12


_UNREAD = object()


class SpanFields:
    """The attribute maps of one span, in order of precedence."""

    def __init__(self, span: Span, names: Vocabulary, texts: JsonTexts | None = None) -> None:
        self.names = names
        self.read = (texts or JsonTexts()).value  # JSON text read, what is known of it only once
        self.all: list[Attributes] = [span.attributes]
        if span.logs or span.events:
            self.all += [record.attributes for record in span.logs if record.event == DETAILS_EVENT]
            self.all += [event.attributes for event in span.events if event.name == DETAILS_EVENT]
            # Of several it is not known whether they add up.
            counting = [
                event.attributes for event in span.events if semconv.USAGE_INPUT_TOKENS in event.attributes
            ]
            self.all += counting if len(self.all) == len(counting) == 1 else ()
        self._keys: AbstractSet[str] = (
            span.attributes.keys() if len(self.all) == 1 else set[str]().union(*self.all)
        )
        self._span = span
        self._called = [names_of_span(span)]
        #: All names, a newline before each: to be searched for a part of one.
        self.listed = self._called[0].listed
        if len(self.all) > 1:
            self._called += map(names_of, self.all[1:])
            self.listed = "".join(names.listed for names in self._called)
        self._own = span.attributes
        self._had = self._called[0].had if len(self.all) == 1 else None
        self._exchange: object = _UNREAD
        self._request: object = _UNREAD
        self._response: object = _UNREAD
        self._requests: list[object] | None = None
        self._responses: list[object] | None = None

    def any(self, *keys: str) -> object:
        """Return the value of the first key that has one, wherever it lies."""
        if self._had is not None:
            known = self._had.get(keys)
            for key in self._called[0].having(keys) if known is None else known:
                value = self._shaped(key) if key[:1] == "*" else self._own[key]
                if value is not None and not (isinstance(value, str) and value in TAKEN_OUT):
                    return value
            return None
        has_some = not self._keys.isdisjoint(keys)
        for key in keys:
            if key[:1] == "*":
                value = self._shaped(key)
                if value is not None:
                    return value
            elif has_some:
                for place in self.all:
                    value = place.get(key)
                    if value is not None and not (isinstance(value, str) and value in TAKEN_OUT):
                        return value
        return None

    def _shaped(self, shape: str) -> object:
        """Return the value that has a shape, whatever its name."""
        if shape == EXCHANGE:
            return self.exchange
        if shape == REQUEST:
            return self.request
        return self.response if shape == RESPONSE else self._worded(shape)

    def each(self, *keys: str) -> Iterator[object]:
        """Yield the value of each key that has one; those that any attribute may hold only where no other has."""
        found = False
        has_some = not self._keys.isdisjoint(keys)
        for key in keys:
            if key in _BY_SHAPE:
                value = None if found else self._shaped(key)
            else:
                value = self.any(key) if has_some else None
            if value is not None:
                found = True
                yield value

    @property
    def exchange(self) -> dict[str, object] | None:
        """The whole request and its response that the attributes hold; None where they do not."""
        if self._exchange is _UNREAD:
            # A second look only where a name may be that of an answer.
            may = ".choices" in self.listed or ".candidates" in self.listed
            self._exchange = exchange_by_keys(self.all[0], self.read) if may else None
        return cast("dict[str, object] | None", self._exchange)

    @property
    def request(self) -> object:
        """What the model was asked, as a value shows by its shape."""
        if self._request is _UNREAD:
            self._request = request_by_shape(self.all[0], self.read) if self._called[0].has_own else None
            if self._request is None and (self._span.events or self._span.logs):
                told = (request_by_shape(each, self.read) for each in self.beside())
                self._request = next((each for each in told if each is not None), None)
        return self._request

    @property
    def response(self) -> object:
        """What the model answered, as a value shows by its shape."""
        if self._response is _UNREAD:
            self._response = response_by_shape(self.all[0], self.read) if self._called[0].has_own else None
            if self._response is None and (self._span.events or self._span.logs):
                told = (response_by_shape(each, self.read) for each in self.beside())
                self._response = next((each for each in told if each is not None), None)
                self._response = self.streamed if self._response is None else self._response
        return self._response

    @property
    def streamed(self) -> object:
        """The response that events tell chunk by chunk, each in the same attribute of an event of the same name."""
        chunks: dict[tuple[str, str], list[object]] = {}
        for event in self._span.events if len(self._span.events) > 1 else ():
            for key, value in event.attributes.items():
                if isinstance(value, dict) or (isinstance(value, str) and value[:1] == "{"):
                    chunks.setdefault((event.name, key), []).append(self.read(value))
        for (_, key), listed in chunks.items():
            found = response_by_shape({key: whole_response(listed)}) if len(listed) > 1 else None
            if found is not None:
                return found
        return None

    def beside(self) -> Iterator[Attributes]:
        """Yield what events and log records say, in their order: none of those that tell of an exception."""
        for event in self._span.events:
            if event.name not in EXCEPTIONS:
                yield event.attributes
        for record in sorted(self._span.logs, key=lambda record: record.order):
            if record.event not in EXCEPTIONS:
                yield {**({"body": record.body} if record.body else {}), **record.attributes}

    @property
    def requests(self) -> list[object]:
        """The values that may hold the request."""
        if self._requests is None:
            self._requests = [*self.each(*self.names.requests)]
        return self._requests

    @property
    def responses(self) -> list[object]:
        """The values that may hold the response."""
        if self._responses is None:
            self._responses = [*self.each(*self.names.responses)]
        return self._responses

    def holds_exchange(self) -> bool:
        """Tell whether there is an exchange, also one that only its values show: to be asked where no name tells more."""
        if self.exchange is None:
            self._exchange = exchange_by_values(self.all[0], self.read)
            if self._exchange is None and self._span.events:
                self._exchange = exchange_in_events(
                    self._span.events, self._span.status == "error", self.read
                )
        return self._exchange is not None

    def _worded(self, shape: str) -> object:
        """Return the first text, list, object or count whose name says that it is what a shape stands for; an object with
        nothing in it only where no other does: it stands for what a span of another kind would say."""
        counts = shape in (INPUT_TOKENS, OUTPUT_TOKENS)
        empty: object = None
        for value in self.said(shape):
            if (
                whole(value) is not None
                if counts
                else value and isinstance(value, (str, list, dict)) and value not in TAKEN_OUT
            ):
                if value != "{}" and not (shape == INPUT and value in _NO_INPUT):
                    return value
                if value in _EMPTY:
                    empty = value if empty is None else empty
        return self._worded_beside(shape) if empty is None and self._span.events else empty

    def _worded_beside(self, shape: str) -> object:
        """Return what the only event of a span says that has nothing but what was given, or nothing but what was returned."""
        if shape not in (INPUT, OUTPUT):
            return None
        words = {each for each, _ in WORDS[shape]}
        told = [
            value
            for event in self._span.events
            if event.name not in EXCEPTIONS and len(event.attributes) == 1
            for name, value in event.attributes.items()
            if value and isinstance(value, (str, list, dict)) and not words.isdisjoint(words_of(name))
        ]
        return told[0] if len(told) == 1 else None

    def said(self, shape: str) -> list[object]:
        """Return the values whose names say what a shape stands for, in order."""
        if len(self.all) == 1:
            place = self.all[0]
            return [place[name] for name in self._called[0].saying(shape)]
        return [value for _, value in self.named(shape)]

    def has_words(self, words: str) -> bool:
        """Tell whether a name says some words."""
        if len(self._called) == 1:
            return words in self._called[0].worded
        return any(words in names.worded for names in self._called)

    def named(self, shape: str) -> Iterator[tuple[str, object]]:
        """Yield the names that say what a shape stands for, in order, with their values."""
        if len(self.all) == 1:
            place = self.all[0]
            yield from ((name, place[name]) for name in self._called[0].saying(shape))
            return
        for words, part in WORDS[shape]:
            for place, names in zip(self.all, self._called, strict=True) if part in self.listed else ():
                for name in names.worded.get(words, ()):
                    yield name, place[name]

    @property
    def unlabelled_model(self) -> str | None:
        """Return the first text whose name says no more than that it is a model's; not one of an exchange's fields."""
        found = self._worded(MODEL) if self.exchange is None else None
        return found.strip('"') if isinstance(found, str) else None

    @property
    def indexed(self) -> frozenset[str]:
        """The prefixes under which there are attributes with a number."""
        return self._called[0].indexed

    def matching(self, pattern: re.Pattern[str]) -> Iterator[tuple[str, object]]:
        """Yield the names in which a pattern is found, with their values."""
        for place, names in zip(self.all, self._called, strict=True):
            for name in names.matching(pattern):
                yield name, place[name]

    def own_under(self, prefixes: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Return the span's own names that begin with the first, then with the next, each after its rest, in order."""
        return self._called[0].under_any(prefixes)

    def among(self, known: frozenset[str]) -> tuple[str, ...]:
        """Return the span's own names that are among some known ones, sorted."""
        return self._called[0].among(known)

    def has_any(self, keys: Iterable[str]) -> bool:
        return not self._keys.isdisjoint(keys)

    def has(self, key: str) -> bool:
        return key in self._keys

    def text(self, *keys: str) -> str | None:
        """Return the first text that is not empty; JSON-quoted text is unquoted."""
        if self._had is not None:
            known = self._had.get(keys)
            for key in self._called[0].having(keys) if known is None else known:
                value = self._own.get(key)
                if isinstance(value, str) and value.strip('"'):
                    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
            return None
        if self._keys.isdisjoint(keys):
            return None
        for key in keys:
            for place in self.all:
                value = place.get(key)
                if isinstance(value, str) and value.strip('"'):
                    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
        return None

    def count(self, *keys: str) -> int | None:
        """Return the first whole number from 0 on, also where it travels as text."""
        if self._had is not None:
            known = self._had.get(keys)
            for key in self._called[0].having(keys) if known is None else known:
                number = whole(self.any(key) if key[:1] == "*" else self._own[key])
                if number is not None:
                    return number
            return None
        has_some = not self._keys.isdisjoint(keys)
        for key in keys:
            if has_some or key[:1] == "*":
                number = whole(self.any(key))
                if number is not None:
                    return number
        return None

    def counts(self, names: Mapping[str, str]) -> dict[str, int]:
        """Return whole numbers by what `names` calls their keys."""
        if self._keys.isdisjoint(names):
            return {}
        found = ((called, whole(self.any(key))) for key, called in names.items() if key in self._keys)
        return {called: number for called, number in found if number is not None}

    def number(self, *keys: str) -> float | None:
        """Return the first number from 0 on; an infinite one is not one."""
        for key in () if self._keys.isdisjoint(keys) else keys:
            value = self.any(key)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < inf:
                return float(value)
        return None

    def value(self, *keys: str) -> object:
        """Return the first value, JSON text read."""
        return self.read(self.any(*keys))

    def under(self, prefix: str) -> Iterator[tuple[str, object]]:
        """Yield (rest of the key, value) of the attributes whose key starts so."""
        for place, names in zip(self.all, self._called, strict=True):
            for rest, key in names.under(prefix):
                yield rest, place[key]


def whole(value: object) -> int | None:
    """Return a whole number from 0 to MOST_COUNT, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value <= MOST_COUNT else None
    if isinstance(value, float) and 0 <= value <= MOST_COUNT and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) < 20 and value.strip('"').isdecimal():
        number = int(value.strip('"'))
        return number if number <= MOST_COUNT else None
    return None
