"""A price table: what a million tokens of each kind cost, by model and by day. Amounts are exact, and never floats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase

from retrospan.ingest.prices.model_names import names_of, plain_provider

#: Buckets that are billed as another where a table has no price of their own: text is what a price without a modality is
#: for, and every provider bills reasoning as output.
SAME_PRICE = {
    "reasoning": "output",
    "input_text": "input",
    "output_text": "output",
    "cache_read_text": "cache_read",
}

#: Models are few and come with every request.
_KEPT = 1_024


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices of a million tokens, by bucket; from a longer request on, by a tier's own."""

    per_million: Mapping[str, Decimal]
    tiers: tuple[
        tuple[int, Mapping[str, Decimal]], ...
    ] = ()  # (above so many tokens of input, prices), ascending

    def at(self, input_tokens: int) -> Mapping[str, Decimal]:
        """Return the prices of a request of so many tokens."""
        fitting = [prices for above, prices in self.tiers if input_tokens > above]
        return fitting[-1] if fitting else self.per_million


@dataclass(frozen=True, slots=True)
class Price:
    """The prices of some models, from one day (inclusive) until another (exclusive), by the clock of UTC."""

    models: tuple[str, ...]  # names or patterns, in lower case
    providers: tuple[str, ...]  # as tables call them; none: any
    standard: Rates
    services: Mapping[str, Rates] = field(default_factory=dict)  # of other tiers of service, such as batch
    since: date | None = None
    until: date | None = None

    def holds_on(self, day: date) -> bool:
        """Whether it is in force on a day."""
        return (self.since is None or self.since <= day) and (self.until is None or day < self.until)

    def names_provider(self, provider: str | None) -> bool:
        """Whether it may be meant, for a provider as tables call it; None: not known."""
        return provider is None or not self.providers or provider in self.providers


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices in one currency, in the order of their file."""

    name: str  # with a part of the hash of its meaning: the same name is the same table
    currency: str  # ISO 4217
    prices: tuple[Price, ...]
    _known: dict[tuple[str | None, str], list[Price]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def prices_of(self, provider: str | None, model: str) -> list[Price]:
        """Return what the table says of a model, at any time.

        A name counts before a pattern, and a more particular name before one without vendor or date. Of patterns the
        first of the file counts, with what has the same pattern at other times.
        """
        asked = (provider, model)
        if asked not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[asked] = self._find(provider, model)
        return self._known[asked]

    def _find(self, provider: str | None, model: str) -> list[Price]:
        provider = plain_provider(provider) if provider else None
        meant = [price for price in self.prices if price.names_provider(provider)]
        for name in names_of(model):
            if found := [price for price in meant if name in price.models]:
                return found
            pattern = next(_fitting(meant, name), None)
            if pattern is not None:
                return [price for price in meant if pattern in price.models]
        return []


def _fitting(prices: list[Price], name: str) -> Iterator[str]:
    for price in prices:
        for model in price.models:
            if "*" in model and fnmatchcase(name, model):
                yield model
