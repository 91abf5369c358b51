"""What `python -m bench.reading` sends, and when its page says that a mark is missed."""

from __future__ import annotations

import pytest
from bench.reading import PAYLOAD, SPANS_OF_TRACE, Found, render, spans


def found(memory: int = 60_000_000, first: float = 0.09, freed: float = 1.9) -> Found:
    return Found(
        sent_bytes=1,
        streamed=[(1_000_000_000, 9.0)],
        # The first warms up.
        peaks=[900_000_000, 5, memory],
        first={"of spans": [0.01, first]},
        freed={"counts": [0.3, freed]},
    )


@pytest.mark.parametrize(
    ("given", "missed"),
    [
        ({}, ""),
        ({"memory": 64_000_000}, "more memory while"),
        ({"first": 0.1}, "from the engine's first block"),
        ({"freed": 2.0}, "until a place is free"),
    ],
)
def test_a_mark_is_met_by_the_worst_of_what_was_measured(given: dict[str, float], missed: str) -> None:
    page, met = render(found(**given), 1, {"Memory": "much"})  # type: ignore[arg-type]
    assert met is not bool(missed)
    lines = [line for line in page.splitlines() if "**missed**" in line]
    assert [line.startswith(f"| {missed}") for line in lines] == [True] * bool(missed)


def test_no_two_payloads_are_alike() -> None:
    made = list(spans(SPANS_OF_TRACE + 1))
    payloads = {span.attributes[0].value.string_value for span in made}
    assert len(payloads) == len(made) == len({span.span_id for span in made})
    assert min(map(len, payloads)) >= PAYLOAD
    assert len({span.trace_id for span in made}) == 2
