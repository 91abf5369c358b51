"""Cases of which each stands for the others: the long tests take some of them, soak has all."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet


def one_in(every: int, cases: Iterable[object]) -> list[ParameterSet]:
    """Return the cases as parameters: the first and then one in so many is long, the rest soak."""
    return [
        pytest.param(case, marks=pytest.mark.soak if place % every else pytest.mark.long)
        for place, case in enumerate(cases)
    ]
