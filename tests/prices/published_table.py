"""Writes the table of published prices from the package `genai-prices` (MIT), which is not needed for anything else.

In an environment that has the package and Retrospan: `python tests/prices/published_table.py`. What a table cannot say
(prices by the hour of the day, for a request, for an hour of audio) is left out with its model or its bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[2] / "ingest/retrospan/ingest/prices/published.toml"
KINDS: Any = import_module("genai_prices.types")
PROVIDERS: Any = import_module("genai_prices.data").providers
#: Who serves models at prices of its own, by token.
SERVED_BY = ("openai", "anthropic", "google", "aws", "azure", "mistral", "deepseek", "groq", "x-ai", "cohere")
BUCKETS = {
    "input_mtok": "input",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "output_mtok": "output",
    "output_reasoning_mtok": "reasoning",
    "input_audio_mtok": "input_audio",
    "input_image_mtok": "input_image",
    "input_video_mtok": "input_video",
    "cache_audio_read_mtok": "cache_read_audio",
    "cache_image_read_mtok": "cache_read_image",
    "output_audio_mtok": "output_audio",
    "output_image_mtok": "output_image",
    "output_video_mtok": "output_video",
}
#: Charged beside the tokens or instead of them: a model with such a price has no cost by its tokens alone.
BY_REQUEST = ("requests_kcount", "input_mchars")
#: Of one price with text in Google's price lists, where they give none of its own.
AS_TEXT = ("image", "video", "document")

Rates = tuple[dict[str, Decimal], list[tuple[int, dict[str, Decimal]]]]

HEAD = """\
# Published prices of models, by the million tokens. Taken from the package genai-prices {version}, Copyright (c) Pydantic
# Services Inc. 2025 to present, under the MIT licence:
#
# Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
# documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
# rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
# persons to whom the Software is furnished to do so, subject to the following conditions: The above copyright notice
# and this permission notice shall be included in all copies or substantial portions of the Software.
#
# THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
# WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
# COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
# OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

name = "published-{version}"
currency = "USD"
"""


def names(match: Any, model: str) -> list[str] | None:
    """Return the names and patterns of a clause that a table can say; None where it can say nothing of it.

    What else a clause of several takes (an expression, above all for days, which are left out of names anyway) is not
    said: it has no price then. Of a clause that excludes names only the model's own is.
    """
    if isinstance(match, KINDS.ClauseEquals):
        return [match.equals.lower()]
    if isinstance(match, KINDS.ClauseStartsWith):
        return [match.starts_with.lower() + "*"]
    if isinstance(match, KINDS.ClauseEndsWith):
        return [f"*{match.ends_with.lower()}"]
    if isinstance(match, KINDS.ClauseContains):
        return [f"*{match.contains.lower()}*"]
    if isinstance(match, KINDS.ClauseOr):
        found = [names(each, model) for each in match.or_]
        return sorted({name for each in found if each for name in each}) or None
    return [model.lower()] if isinstance(match, KINDS.ClauseAnd) and match.is_match(model) else None


def rates(provider: str, prices: Any) -> Rates | None:
    said = {key: value for key, value in vars(prices).items() if value is not None}
    if any(key in said for key in BY_REQUEST) or "input_mtok" not in said:
        return None
    tokens = {BUCKETS[key]: value for key, value in said.items() if key in BUCKETS}
    if provider == "google":
        for side in ("input", "cache_read"):
            for kind in AS_TEXT:
                if side in tokens:
                    tokens.setdefault(f"{side}_{kind}", tokens[side])
    starts = sorted(
        {
            tier.start
            for value in tokens.values()
            if isinstance(value, KINDS.TieredPrices)
            for tier in value.tiers
        }
    )
    base = {
        bucket: value.base if isinstance(value, KINDS.TieredPrices) else value
        for bucket, value in tokens.items()
    }
    return base, [(start, {bucket: at(value, start) for bucket, value in tokens.items()}) for start in starts]


def at(value: Any, start: int) -> Decimal:
    if not isinstance(value, KINDS.TieredPrices):
        return Decimal(value)
    return Decimal(next((tier.price for tier in reversed(value.tiers) if tier.start <= start), value.base))


def begins(constraint: Any) -> date | None:
    return constraint.start_date if isinstance(constraint, KINDS.StartDateConstraint) else None


def entries(provider: str, served_by: list[str], model: Any) -> Iterator[str]:
    known = names(model.match, model.id)
    plain = model.prices if isinstance(model.prices, list) else [KINDS.ConditionalPrice(prices=model.prices)]
    if known is None or any(
        each.constraint is not None and begins(each.constraint) is None for each in plain
    ):
        return
    variants = [
        each
        for each in model.price_variants or []
        if {*each.when} <= {"processing", "service_tier"} and "default" not in each.when.values()
    ]
    days = sorted({begins(each.constraint) or date.min for each in [*plain, *variants]} | {date.min})
    for place, day in enumerate(days):
        until = days[place + 1] if place + 1 < len(days) else None
        fitting = [each for each in plain if (begins(each.constraint) or date.min) <= day]
        if (
            not fitting
            or (
                found := rates(
                    provider, max(fitting, key=lambda each: begins(each.constraint) or date.min).prices
                )
            )
            is None
        ):
            continue
        services = {
            next(iter(each.when.values())): other
            for each in variants
            if (begins(each.constraint) or date.min) <= day and (other := rates(provider, each.prices))
        }
        yield written(known, served_by, found, services, day, until)


def written(
    known: list[str],
    served_by: list[str],
    found: Rates,
    services: dict[str, Rates],
    day: date,
    until: date | None,
) -> str:
    lines = ["[[price]]", f"provider = {listed(served_by)}", f"models = {listed(known)}"]
    lines += [f"from = {day}"] if day != date.min else []
    lines += [f"until = {until}"] if until else []
    lines += [*told("price", found)]
    for name, other in sorted(services.items()):
        lines += [f"[price.service.{name}]", *told(f"price.service.{name}", other)]
    return "\n".join(lines) + "\n"


def told(place: str, found: Rates) -> Iterator[str]:
    base, tiers = found
    yield f"per_million = {inline(base)}"
    for start, prices in tiers:
        yield f"[[{place}.tier]]"
        yield f"above_input_tokens = {start}"
        yield f"per_million = {inline(prices)}"


def inline(prices: dict[str, Decimal]) -> str:
    return "{ " + ", ".join(f"{bucket} = {price.normalize():f}" for bucket, price in prices.items()) + " }"


def listed(texts: list[str]) -> str:
    quoted = ", ".join(f'"{text}"' for text in texts)
    return quoted if len(texts) == 1 else f"[{quoted}]"


def main() -> None:
    by_id = {provider.id: provider for provider in PROVIDERS}
    found = [HEAD.format(version=version("genai-prices"))]
    azure = {each for model in by_id["azure"].models for each in names(model.match, model.id) or ()}
    falls_back = "openai" in (by_id["azure"].fallback_model_providers or ())
    for name in SERVED_BY:
        for model in by_id[name].models:
            also = name == "openai" and falls_back and azure.isdisjoint(names(model.match, model.id) or ())
            found += entries(name, [name, "azure"] if also else [name], model)
    FILE.write_text("\n".join(found))


if __name__ == "__main__":
    main()
