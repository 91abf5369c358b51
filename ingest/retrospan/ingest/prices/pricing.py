"""What a request to a model cost: disjoint counts of tokens times the prices of its day. Pure.

Unknown is None with a reason: a model or a kind of token without a price is not free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from functools import reduce
from typing import NamedTuple

from retrospan.ingest.prices.price_table import SAME_PRICE, Price, PriceTable, Rates

#: Wide enough for every product and sum of counts of 64 bits and prices: nothing is rounded.
_EXACT = Context(prec=80)

#: What providers call the service that a table's plain prices are for.
_STANDARD = frozenset({"", "default", "auto", "standard", "standard_only", "on_demand", "on-demand"})


class Usage(NamedTuple):
    """What a request to a model took. `at` is Unix nanoseconds."""

    provider: str | None
    model: str | None
    buckets: Mapping[str, int]  # that do not overlap
    input_tokens: int | None
    output_tokens: int | None
    service: str | None
    at: int
    is_sum: bool = False  # of several requests


class Line(NamedTuple):
    """One bucket of a request, as on an invoice. Without a price it says why."""

    bucket: str
    tokens: int
    price: Decimal | None  # of a million tokens
    unknown: str | None = None

    @property
    def amount(self) -> Decimal | None:
        if self.price is None:
            return None
        return _EXACT.scaleb(_EXACT.multiply(self.price, Decimal(self.tokens)), -6)


class Cost(NamedTuple):
    """The cost of a request: None where any part of it is not known, and why."""

    amount: Decimal | None
    lines: tuple[Line, ...] = ()
    currency: str | None = None
    table: str | None = None
    unknown: str | None = None


def cost_of(usage: Usage, tables: tuple[PriceTable, ...]) -> Cost:
    """Return what a request cost. Of several tables the first that knows the model counts."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return Cost(None, unknown="its tokens are not known")
    if not usage.model:
        return _without(usage, "no model is named")
    if not tables:
        return _without(usage, "there is no price table")
    if not 0 < usage.at < _LAST:
        return _without(usage, "its time is not known")
    table, found = next(
        ((table, found) for table in tables if (found := table.prices_of(usage.provider, usage.model))),
        (tables[0], list[Price]()),
    )
    named = f"{usage.model} of {usage.provider}" if usage.provider else usage.model
    if not found:
        return _without(usage, f"no price table has the model {named}")
    day = datetime.fromtimestamp(usage.at // 1_000_000_000, UTC).date()
    try:
        rates = _rates(found, day, usage, named)
    except _Unpriced as reason:
        return _without(usage, str(reason), table)
    lines = tuple(_line(bucket, tokens, rates, named) for bucket, tokens in usage.buckets.items())
    missing = _missing_side(usage) or next((line.unknown for line in lines if line.unknown), None)
    if missing is not None:
        return Cost(None, lines, table.currency, table.name, missing)
    return Cost(total_of(lines), lines, table.currency, table.name)


def total_of(lines: Iterable[Line]) -> Decimal:
    """Return what all lines that have a price come to."""
    return exact_sum(amount for line in lines if (amount := line.amount) is not None)


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """Return the sum of amounts, not rounded."""
    return reduce(_EXACT.add, amounts, Decimal(0))


#: The first nanosecond of the year 10000, which no date can name.
_LAST = 253_402_300_800_000_000_000


class _Unpriced(Exception):
    """A request has no prices; the message says why."""


def _without(usage: Usage, reason: str, table: PriceTable | None = None) -> Cost:
    lines = tuple(Line(bucket, tokens, None, reason) for bucket, tokens in usage.buckets.items())
    return Cost(None, lines, table.currency if table else None, table.name if table else None, reason)


def _rates(found: list[Price], day: date, usage: Usage, named: str) -> Mapping[str, Decimal]:
    """Return the prices of a request by bucket. Raises _Unpriced."""
    holding = [price for price in found if price.holds_on(day)]
    if not holding:
        raise _Unpriced(f"there is no price of {named} for {day}")
    service = (usage.service or "").strip().lower()
    chosen = [_service(price, service, named) for price in holding]
    if usage.input_tokens is None and any(rates.tiers for rates in chosen):
        raise _Unpriced(f"{named} has another price for long requests, and its tokens of input are not known")
    tiers = [above for rates in chosen for above, _ in rates.tiers]
    if usage.is_sum and tiers and (usage.input_tokens or 0) > min(tiers):
        raise _Unpriced(f"{named} has another price for long requests, and only their sum is known")
    prices = [rates.at(usage.input_tokens or 0) for rates in chosen]
    if any(each != prices[0] for each in prices[1:]):
        names = ", ".join(sorted({provider for price in holding for provider in price.providers}))
        raise _Unpriced(f"the provider of {named} is not known, and prices differ ({names})")
    return prices[0]


def _service(price: Price, service: str, named: str) -> Rates:
    if service in _STANDARD:
        return price.standard
    rates = price.services.get(service)
    if rates is None:
        raise _Unpriced(f"there is no price of {named} for the service tier {service[:40]!r}")
    return rates


def _line(bucket: str, tokens: int, rates: Mapping[str, Decimal], named: str) -> Line:
    price = rates.get(bucket, rates.get(SAME_PRICE.get(bucket, "")))
    if price is None and tokens == 0:
        return Line(bucket, 0, Decimal(0))
    return Line(
        bucket, tokens, price, None if price is not None else f"there is no price of {bucket} of {named}"
    )


def _missing_side(usage: Usage) -> str | None:
    """Return why the buckets are not all of a request's tokens, None where they are."""
    for side, total in (("input", usage.input_tokens), ("output", usage.output_tokens)):
        if total is None:
            return f"its tokens of {side} are not known"
        if side not in usage.buckets:
            return f"the parts of its tokens of {side} are more than all of them"
    return None
