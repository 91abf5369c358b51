"""The file of prices: TOML in, a table out, errors with file and line.

currency = "USD"

[[price]]
provider = "openai"
models = ["gpt-5", "gpt-5-2025-*"]
from = 2026-01-01
per_million = { input = 1.25, cache_read = 0.125, output = 10 }
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import cast

from retrospan.ingest.prices.currencies import CURRENCIES
from retrospan.ingest.prices.model_names import plain_provider
from retrospan.ingest.prices.price_table import Price, PriceTable, Rates
from retrospan.ingest.settings.trusted_file import require_trusted
from retrospan.schemas.errors import ConfigError
from retrospan.schemas.hashing import hash_of

_NAME = re.compile(r"[A-Za-z0-9][\w. -]{0,63}")
#: A bucket is a kind of tokens as `model_calls.token_buckets` names it.
BUCKET = re.compile(
    r"(?:input|output|cache_read|cache_write|reasoning)(?:_(?:text|audio|image|video|document|file))?"
)
_TOP = ("name", "currency", "price")
_KEYS = ("provider", "models", "from", "until", "per_million", "tier", "service")
_TIER = ("above_input_tokens", "per_million")
_RATES = ("per_million", "tier")
_HEADING = re.compile(r"\s*\[\[\s*price\s*\]\]")
_SETTING = re.compile(r"\s*\"?([\w-]+)\"?\s*=")
#: A price of more is a slip of the pen, and amounts of that kind would not fit the warehouse.
_DEAREST = Decimal(1_000_000_000)
_DECIMALS = 6


class _Bad(ValueError):
    """A key of one price cannot be used."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key


def read_price_file(file: Path) -> str:
    """Return the text of a file of prices that nobody else can change. Raises ConfigError."""
    require_trusted(file)
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 text: {error}.") from error


def parse_prices(text: str, name: str) -> PriceTable:
    """Return the table of a text; `name` is what errors call it. Raises ConfigError, which names file and line."""
    try:
        tree = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        where = f"{name} line {at[1]}" if at else name
        raise ConfigError(f"{where} is not TOML: {error}.") from error
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ConfigError(f"{name} has a value that cannot be read: {error}.") from error
    try:
        _require_known(tree, _TOP, "")
        title, currency = _title(tree), _currency(tree)
        tables = tree.get("price", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise _Bad("price", "write [[price]], with two brackets")
        if not tables:
            raise _Bad("price", "there are no prices: write [[price]] for each")
    except _Bad as bad:
        raise ConfigError(f"{name} line {_line(text, -1, bad.key)}: {bad.key}: {bad}.") from bad
    prices: list[Price] = []
    for place, table in enumerate(cast("list[dict[str, object]]", tables)):
        try:
            prices.append(_price(table))
        except _Bad as bad:
            raise ConfigError(f"{name} line {_line(text, place, bad.key)}: {bad.key}: {bad}.") from bad
    for one, other, model in _overlaps(prices):
        raise ConfigError(
            f"{name} line {_line(text, other, 'models')}: {model!r} has two prices for the same days: "
            f"that of line {_line(text, one, 'models')} as well. Let one end (until = …) where the other begins (from = …)."
        )
    return PriceTable(f"{title}:{hash_of(_plain(tree))[:8]}", currency, tuple(prices))


def _title(tree: Mapping[str, object]) -> str:
    title = tree.get("name", "own")
    if not isinstance(title, str) or not _NAME.fullmatch(title):
        raise _Bad("name", f"{title!r} is not a name of letters, digits, spaces and _.-, of 64 at most")
    return title


def _currency(tree: Mapping[str, object]) -> str:
    currency = tree.get("currency")
    if currency is None:
        raise _Bad("currency", 'missing: write, say, currency = "USD" at the top')
    if not isinstance(currency, str) or currency not in CURRENCIES:
        near = get_close_matches(str(currency).upper(), CURRENCIES, 1, 0.6)
        hint = f"did you mean {near[0]!r}?" if near else 'write its three letters, such as "USD"'
        raise _Bad("currency", f"{currency!r} is not a currency of ISO 4217; {hint}")
    return currency


def _require_known(table: Mapping[str, object], known: tuple[str, ...], inside: str) -> None:
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1, 0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise _Bad(inside or key, f"{key!r} is not a key here; {hint}")


def _price(table: Mapping[str, object]) -> Price:
    _require_known(table, _KEYS, "")
    since, until = _day(table, "from"), _day(table, "until")
    if since is not None and until is not None and until <= since:
        raise _Bad("until", f"{until} is not after from = {since}: no day would have this price")
    services = table.get("service", {})
    if not isinstance(services, dict) or not all(isinstance(each, dict) for each in services.values()):
        raise _Bad("service", "write [price.service.batch] with per_million below")
    found: dict[str, Rates] = {}
    for name, rates in cast("dict[str, dict[str, object]]", services).items():
        _require_known(rates, _RATES, "service")
        found[name.lower()] = _rates(rates)
    models = tuple(each.strip().lower() for each in _texts(table, "models"))
    if not models:
        raise _Bad("models", "missing: name the models that have this price")
    if any(set(model) <= {"*"} for model in models):
        raise _Bad("models", "'*' would give every unknown model this price: name what models begin with")
    providers = tuple(plain_provider(each) for each in _texts(table, "provider"))
    return Price(models, providers, _rates(table), found, since, until)


def _texts(table: Mapping[str, object], key: str) -> list[str]:
    value = table.get(key, [])
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(each, str) and each.strip() for each in texts):
        raise _Bad(key, f"{value!r} is not a name or a list of names")
    return cast("list[str]", texts)


def _day(table: Mapping[str, object], key: str) -> date | None:
    value = table.get(key)
    if value is None or (isinstance(value, date) and not isinstance(value, datetime)):
        return value
    raise _Bad(key, f"{value!r} is not a day: write it as 2026-01-31, without quotes; days are those of UTC")


def _rates(table: Mapping[str, object]) -> Rates:
    tiers = table.get("tier", [])
    if not isinstance(tiers, list) or not all(isinstance(each, dict) for each in tiers):
        raise _Bad("tier", "write [[price.tier]], with two brackets")
    found: list[tuple[int, Mapping[str, Decimal]]] = []
    for tier in cast("list[dict[str, object]]", tiers):
        _require_known(tier, _TIER, "tier")
        above = tier.get("above_input_tokens")
        if not isinstance(above, int) or isinstance(above, bool) or above <= 0:
            raise _Bad("above_input_tokens", f"{above!r} is not a whole number of tokens above 0")
        if any(above == other for other, _ in found):
            raise _Bad("above_input_tokens", f"there are two tiers above {above}")
        found.append((above, _per_million(tier)))
    return Rates(_per_million(table), tuple(sorted(found, key=lambda tier: tier[0])))


def _per_million(table: Mapping[str, object]) -> Mapping[str, Decimal]:
    prices = table.get("per_million")
    if not isinstance(prices, dict) or not prices:
        raise _Bad("per_million", "missing: write per_million = { input = 1.25, output = 10 }")
    return {bucket: _amount(bucket, value) for bucket, value in cast("dict[str, object]", prices).items()}


def _amount(bucket: str, value: object) -> Decimal:
    if not BUCKET.fullmatch(bucket):
        raise _Bad(
            "per_million", f"{bucket!r} is not a kind of tokens, such as input, cache_read or output_audio"
        )
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise _Bad("per_million", f"{bucket}: {value!r} is not a price")
    price = Decimal(value)
    if not price.is_finite() or price < 0 or price >= _DEAREST:
        raise _Bad("per_million", f"{bucket}: {value} is not a price: it is between 0 and {_DEAREST:,}")
    if price != round(price, _DECIMALS):
        raise _Bad("per_million", f"{bucket}: {value} has more than {_DECIMALS} decimals")
    return price


def _overlaps(prices: list[Price]) -> Iterator[tuple[int, int, str]]:
    """Yield pairs of prices, by their places, that give a model two prices on the same day."""
    places: dict[str, list[int]] = {}
    for place, price in enumerate(prices):
        for model in dict.fromkeys(price.models):
            places.setdefault(model, []).append(place)
    for model, own in places.items():
        for one, other in combinations(own, 2):
            first, second = prices[one], prices[other]
            both = not first.providers or not second.providers or {*first.providers} & {*second.providers}
            apart = (
                first.until is not None and second.since is not None and first.until <= second.since
            ) or (second.until is not None and first.since is not None and second.until <= first.since)
            if both and not apart:
                yield one, other, model


def _plain(value: object) -> object:
    """Return a value that means the same however the file writes it: 10 and 10.00 are one price."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[object]", value)]
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return f"{Decimal(value).normalize():f}"
    return str(value)


def _line(text: str, place: int, key: str) -> int:
    """Return the line of a key in the price at that place (-1: above all of them), or of its heading."""
    at, heading = -1, 1
    for number, line in enumerate(text.splitlines(), start=1):
        if _HEADING.match(line):
            at += 1
            heading = number if at == place else heading
        elif at == place and (setting := _SETTING.match(line)) and setting[1] == key:
            return number
    return heading
