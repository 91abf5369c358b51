"""No test leaves a span or a value in the context."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import context, trace


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    yield
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert context.get_current() == {}
