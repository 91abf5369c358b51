"""The rows of every recording are those that are kept: a rule that changes them has to say so in its commit."""

from __future__ import annotations

import pytest
from recordings.kept_rows import cases, hashes_of, kept

CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_the_rows_are_those_that_are_kept(name: str) -> None:
    """Where they differ on purpose: `cd tests && python -m recordings.kept_rows`."""
    assert hashes_of(CASES[name]()) == kept()[name]


def test_every_case_is_kept() -> None:
    assert list(CASES) == list(kept())
