"""How many tokens a request to a model can have: the published table, and a file of one's own."""

from __future__ import annotations

from datetime import date

import pytest

from retrospan.ingest.rules.model_limits import (
    NO_LIMITS,
    PUBLISHED_LIMITS,
    Limit,
    ModelLimits,
    published,
)
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.schemas.errors import ConfigError


def test_the_newest_limit_of_the_day_counts() -> None:
    limits = ModelLimits(
        (
            Limit(("m",), 10, date(2026, 1, 1)),
            Limit(("m",), 20, date(2026, 2, 1)),
            Limit(("m",), 15, date(2026, 2, 1)),
        ),
        published=False,
    )
    days = [date(2025, 12, 31), date(2026, 1, 31), date(2026, 2, 1)]
    assert [limits.of("m", day) for day in days] == [None, (10, "rules"), (20, "rules")]
    assert NO_LIMITS.of("gpt-4o", days[0]) is None
    assert PUBLISHED_LIMITS.of("GPT-4o", days[0]) == (128_000, published()[0])


def test_published_limits_are_of_a_version_and_of_many_models() -> None:
    name, by_model = published()
    assert name.startswith("published-") and len(by_model) > 200
    assert all(1_000 <= limit.tokens <= 10**8 for limits in by_model.values() for limit in limits)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[limit]]\nmodels = 3\ntokens = 1", "line 2: models: 3 is neither the name of a model nor a list"),
        ("[[limit]]\nmodels = []\ntokens = 1", "line 2: models: [] is neither"),
        ('[[limit]]\nmodels = ["m"]\ntokens = 0', "line 3: tokens: 0 is not a whole number of tokens"),
        ('[[limit]]\nmodels = ["m"]\ntokens = true', "line 3: tokens: True is not"),
        ('[[limit]]\nmodels = "m"\ntokens = 9\nfrom = "x"', "line 4: from: 'x' is not a day"),
        ('[[limit]]\nmodels = "m"\ntokens = 9\nfrom = 2026-01-01T00:00:00Z', "line 4: from:"),
        ('[[limit]]\nmodels = "m"\ntoken = 9', "line 3: token: not a key of a limit; known: models, tokens"),
        ('[limit]\nmodels = "m"', "line 1: write [[limit]], with two brackets"),
        ('[[limits]]\nmodels = "m"', "unknown key 'limits'"),
    ],
)
def test_a_limit_that_cannot_be_used_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Ruleset.parse(text, "rules.toml")
    assert said in str(refused.value)


def test_rules_alone_have_the_hash_that_they_had_before_there_were_limits() -> None:
    text = '[[rule]]\nname = "r"\ntool = "t"\nentity = "e"\nid = "arguments.id"\nafter = "result"\n'
    assert Ruleset.parse(text, "rules.toml").hash == "46364212"
