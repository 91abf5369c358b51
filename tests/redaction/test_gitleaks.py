"""A public set of rules as the oracle: of the forms that gitleaks knows, how many do the built-in rules take out?

Only expressions and names of its rules are used, as facts about what credentials look like; secrets are made from
them at random, the same in each run.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from redaction.made_secrets import made

from retrospan.schemas.redaction.matching import Matcher, Taken
from retrospan.schemas.redaction.rules import Rules

DATA = json.loads((Path(__file__).parent / "gitleaks.json").read_text(encoding="utf-8"))
PAGE = (Path(__file__).parents[2] / "docs/redaction.md").read_text(encoding="utf-8")
MATCHER = Matcher(Rules.secrets())
TRIES = 20
# What a name in front says that is followed by an id, which is not a secret.
IDS = ("-id",)


def is_taken_out(text: str, secret: str) -> bool:
    found = MATCHER.text(text, "x", Taken())
    assert found is text or MATCHER.may_hold(text.encode())
    half = len(secret) // 2
    return secret not in found and secret[half:] not in found


@cache
def caught_formats() -> dict[str, bool]:
    """Rules that know a secret by its own form or by a form of text around it: caught each time, or not."""
    caught: dict[str, bool] = {}
    for name, expression in DATA["formats"].items():
        texts = [made(expression, seed) for seed in range(TRIES)]
        caught[name] = all(is_taken_out(f"before {text} after", secret) for text, secret in texts)
    return caught


@cache
def caught_values() -> dict[str, bool]:
    """Rules that know a value only by the vendor's name before it, written as programs name their variables."""
    caught: dict[str, bool] = {}
    for name, expression in DATA["assigned"].items():
        if name.endswith(IDS):
            continue
        vendor = re.split("-(?:api|access|client|secret|token|user)", name)[0].replace("-", "_")
        caught[name] = True
        for written in ('{}_api_key = "{}"', "{}_SECRET={}", "{}_token: '{}'"):
            for seed in range(3):
                secret = made(expression, seed)[1]
                caught[name] &= is_taken_out(written.format(vendor.upper(), secret), secret.strip('"'))
    return caught


def share(caught: dict[str, bool]) -> str:
    return f"{sum(caught.values())} of {len(caught)}"


def test_of_the_formats_that_gitleaks_knows_nearly_all_are_taken_out() -> None:
    caught = caught_formats()
    assert len(caught) > 100
    assert sum(caught.values()) / len(caught) >= 0.95, [name for name, held in caught.items() if not held]


def test_values_under_names_of_vendors_are_taken_out() -> None:
    caught = caught_values()
    assert len(caught) > 80
    assert sum(caught.values()) / len(caught) >= 0.95, [name for name, held in caught.items() if not held]


def test_the_page_says_which_share_is_caught() -> None:
    text = " ".join(PAGE.split())
    assert share(caught_formats()) in text and share(caught_values()) in text
    for name, held in caught_formats().items():
        assert held or f"`{name}`" in text
