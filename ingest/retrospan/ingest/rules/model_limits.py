"""How many tokens a request to a model can have: from one's own file of rules, else from the published table. Pure.

[[limit]]
models = ["acme-large", "ft:gpt-4.1:acme"]
tokens = 32_000
from = 2026-03-01
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import cast

from retrospan.ingest.prices.model_names import names_of

_PUBLISHED = Path(__file__).with_name("published_limits.toml")
_KEYS = ("models", "tokens", "from")
_MOST = 10**9
#: What a limit of one's own is called where findings say who states it.
OWN = "rules"


class BadLimit(ValueError):
    """A key of one limit cannot be used."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key


@dataclass(frozen=True, slots=True)
class Limit:
    """The tokens that requests to some models can have, from a day on."""

    models: tuple[str, ...]  # lower case
    tokens: int
    since: date | None = None


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Limits of one's own, before those that are published."""

    own: tuple[Limit, ...] = ()
    published: bool = True

    def of(self, model: str, day: date) -> tuple[int, str] | None:
        """Return how many tokens a request to a model could have on a day, and by which table; None if none says so.

        A name counts before one without vendor or date. Of limits of one name the newest counts, of one day the largest.
        """
        if self.own:
            for name in names_of(model):
                found = _newest([limit for limit in self.own if name in limit.models], day)
                if found is not None:
                    return found, OWN
        return _published_of(model, day) if self.published else None


NO_LIMITS = ModelLimits(published=False)
PUBLISHED_LIMITS = ModelLimits()


@lru_cache(1_024)
def _published_of(model: str, day: date) -> tuple[int, str] | None:
    """Return what the published table says of a model on a day."""
    table, by_model = published()
    for name in names_of(model):
        found = _newest(by_model.get(name, ()), day)
        if found is not None:
            return found, table
    return None


@lru_cache(1)
def published() -> tuple[str, Mapping[str, Sequence[Limit]]]:
    """Return the name of the published table, and its limits by model."""
    tree = tomllib.loads(_PUBLISHED.read_text(encoding="utf-8"))
    by_model: dict[str, list[Limit]] = {}
    for table in cast("list[dict[str, object]]", tree["limit"]):
        limit = read_limit(table)
        for model in limit.models:
            by_model.setdefault(model, []).append(limit)
    return str(tree["name"]), by_model


def read_limit(table: Mapping[str, object]) -> Limit:
    """Return the limit of a table of TOML. Raises BadLimit."""
    for key in table:
        if key not in _KEYS:
            raise BadLimit(key, f"not a key of a limit; known: {', '.join(_KEYS)}")
    models = table.get("models")
    models = [models] if isinstance(models, str) else models
    if (
        not isinstance(models, list)
        or not models
        or not all(isinstance(each, str) and each.strip() for each in models)
    ):
        raise BadLimit(
            "models", f"{table.get('models')!r} is neither the name of a model nor a list of names"
        )
    tokens = table.get("tokens")
    if not isinstance(tokens, int) or isinstance(tokens, bool) or not 0 < tokens <= _MOST:
        raise BadLimit("tokens", f"{tokens!r} is not a whole number of tokens from 1 to {_MOST:,}")
    since = table.get("from")
    if since is not None and (not isinstance(since, date) or isinstance(since, datetime)):
        raise BadLimit("from", f"{since!r} is not a day such as 2026-03-01")
    return Limit(tuple(str(each).strip().lower() for each in models), tokens, since)


def _newest(limits: Sequence[Limit], day: date) -> int | None:
    valid = [limit for limit in limits if limit.since is None or limit.since <= day]
    if not valid:
        return None
    newest = max(limit.since or date.min for limit in valid)
    return max(limit.tokens for limit in valid if (limit.since or date.min) == newest)
