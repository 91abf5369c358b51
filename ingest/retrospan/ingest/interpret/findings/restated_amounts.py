"""Amounts that an answer states otherwise than the result it was given: under the same label, and in the same currency."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, DivisionByZero, InvalidOperation
from itertools import islice

from retrospan.ingest.interpret.findings.said_values import (
    NUMBER,
    numbers_in,
    readings,
    stated_numbers,
    words_of,
)
from retrospan.ingest.interpret.findings.told import Told
from retrospan.schemas.canonical import ToolCallRow

_SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_CODES = ["USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD", "SEK", "NOK", "DKK", "PLN", "INR", "CNY"]
_MONEY = rf"[$€£¥]|(?:{'|'.join(_CODES)})\b"
_CONVERSION = re.compile(
    r"\b(?:convert\w*|exchange|currenc\w+|in (?:eur|usd|gbp|euros?|dollars?|pounds?|yen))\b|in [$€£¥]",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:about|around|roughly|approximately|almost|nearly|over|under|up to|at least|~|≈|<|>)\s*$",
    re.IGNORECASE,
)
#: What amounts are counted in: a number that is so many times another is another unit of it.
_UNITS = tuple(
    Decimal(unit) for unit in (2, 3, 4, 5, 6, 7, 8, 10, 12, 24, 30, 52, 60, 100, 365, 1000, 1024, 3600, 10**6)
)
#: Numbers from which an amount may have been computed, at most; with more nothing is certain.
_MOST_NUMBERS = 120
_CENT = Decimal("0.011")


def restated_amounts(told: Told) -> Iterator[tuple[str, str, str, ToolCallRow]]:
    """Yield the amounts that the answer gives another value, under the name of the result's field.

    A name counts that has one value in all results. What can have been computed from what the run was told, rounded, or
    told in another unit or currency is not yielded.
    """
    if not stated_numbers(told.answer):
        return
    answer = told.answer.casefold()
    for name, held in told.fields.items():
        words = words_of(name)
        if not words or any(word not in answer for word in words):
            continue
        values = {amount for value, _, _ in held if (amount := _amount(value)) is not None}
        if len(values) != 1 or len({str(value) for value, _, _ in held}) != 1:
            continue
        (amount,) = values
        value, holder, call = held[0]
        currency = _currency(value, holder)
        if abs(amount) < 1 or (len(words) < 2 and currency is None):
            continue
        for text, said_currency in _labelled(told.answer, words):
            if _is_other(told, amount, currency, text, said_currency):
                yield "amount", str(value), text, call


def _labelled(answer: str, words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the numbers that stand right after a label, with the currency that stands beside them."""
    label = r"[\s_-]+".join(map(re.escape, words))
    pattern = re.compile(
        rf"(?<!\w){label}\W{{0,4}}\s*(?P<join>(?:(?:is|was|of|comes to|amounts to)\b|[:=])?)\W{{0,6}}?"
        rf"(?P<before>{_MONEY})?\s*(?P<number>{NUMBER})(?!\w|[.,]\d|\s*%)\s*(?P<after>{_MONEY})?",
        re.IGNORECASE,
    )
    for match in pattern.finditer(answer):
        if _ABOUT.search(answer[: match.start("number")]) or re.search(
            r"\bnot\W*$", answer[: match.start()], re.IGNORECASE
        ):
            continue
        money = match["before"] or match["after"]
        yield match["number"], None if money is None else _SYMBOLS.get(money, money.upper())


def _is_other(told: Told, amount: Decimal, currency: str | None, text: str, said: str | None) -> bool:
    means = readings(text)
    if not means or amount in means or means & told.numbers:
        return False
    if said is not None and currency is not None and said != currency:
        return False
    if (said is None) != (currency is None) and _CONVERSION.search(told.text):
        return False
    if amount in numbers_in(told.answer):
        return False
    known = told.numbers | {
        each for other in stated_numbers(told.answer) if other != text for each in readings(other)
    }
    if len(known) > _MOST_NUMBERS:
        return False
    return not any(_may_follow(amount, mean, known) for mean in means)


def _may_follow(amount: Decimal, said: Decimal, known: set[Decimal]) -> bool:
    """Return whether a number may be the amount rounded or in another unit, or computed from two that are known."""
    if any(round(amount, places) == said for places in range(-6, 3)):
        return True
    numbers = [*known, amount]
    for one in numbers:
        if any(_near(said, one * unit) or _near(said * unit, one) for unit in _UNITS):
            return True
        for other in numbers:
            computed = (
                one + other,
                one - other,
                one * other,
                one * (100 + other) / 100,
                one * (100 - other) / 100,
            )
            if any(_near(said, each) for each in computed):
                return True
            try:
                if _near(said, one / other) or _near(said, one / (1 + other / 100)):
                    return True
            except (DivisionByZero, InvalidOperation):
                continue
    return any(
        _near(said, sum(islice(numbers, count), Decimal(0))) for count in (len(numbers) - 1, len(numbers))
    )


def _near(one: Decimal, other: Decimal) -> bool:
    return abs(one - other) <= _CENT


def _amount(value: object) -> Decimal | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Decimal(str(value))
    if isinstance(value, str) and re.search(_MONEY, value):
        numbers = stated_numbers(value)
        return min(readings(numbers[0])) if len(numbers) == 1 and len(readings(numbers[0])) == 1 else None
    return None


def _currency(value: object, holder: dict[str, object]) -> str | None:
    """Return the currency of an amount: written with it, or in a field beside it."""
    money = re.search(_MONEY, value) if isinstance(value, str) else None
    if money is not None:
        return _SYMBOLS.get(money[0], money[0].upper())
    for name, said in holder.items():
        if "currency" in name.casefold() and isinstance(said, str):
            return _SYMBOLS.get(said.strip(), said.strip().upper())
    return None
