"""The rows of every recording are those that are kept: a rule that changes them has to say so in its commit."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from recordings.kept_rows import cases, hashes_of, kept
from sampling import one_in

CASES = cases()
#: A recording → what is kept of it, damaged, and crossed with another; and the runs that are made up.
FORMS: dict[str, list[str]] = defaultdict(list)
WHOLE = [name for name in CASES if not re.search("[~+]", name)]
for _name in CASES:
    if _name not in WHOLE:
        FORMS[re.split(r"[~+]", _name)[0]].append(_name)


@pytest.mark.parametrize("name", WHOLE)
def test_the_rows_are_those_that_are_kept(name: str) -> None:
    """Where they differ on purpose: `cd tests && python -m recordings.kept_rows`."""
    assert hashes_of(CASES[name]()) == kept()[name]


@pytest.mark.parametrize("base", one_in(4, FORMS))
def test_the_rows_of_what_is_damaged_and_crossed_are_those_that_are_kept(base: str) -> None:
    for name in FORMS[base]:
        assert hashes_of(CASES[name]()) == kept()[name], name


def test_every_case_is_kept() -> None:
    assert list(CASES) == list(kept())
