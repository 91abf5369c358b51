"""The bench of the pure core: the same bytes for both checkouts, in turn, and what is printed of them."""

from __future__ import annotations

import importlib

from bench.core import HERE, LATER, compare, growing, line, medium, recorded
from spans import spans_of_requests


def test_every_recording_of_the_manifest_is_read_whole() -> None:
    exports = recorded(HERE.parent)
    assert len(exports) > 100
    assert all(spans_of_requests(*export) for export in exports)


def test_made_runs_are_the_same_each_time() -> None:
    assert medium() == medium()
    ((traces, _),) = growing()
    assert sum(span.name.startswith("chat ") for span in spans_of_requests(traces)) == 300


def test_checkouts_read_the_same_spans_in_turn() -> None:
    exports = recorded(HERE.parent)[:3]
    spans, seconds = compare([HERE.parent, HERE.parent], exports, passes=2)
    assert spans == sum(len(spans_of_requests(*export)) for export in exports)
    assert len(seconds) == 2
    assert min(seconds) > 0


def test_what_later_rows_are_made_by_is_there_to_be_left_out() -> None:
    for module, functions in LATER.items():
        there = importlib.import_module(f"retrospan.ingest.interpret.{module}")
        assert all(callable(getattr(there, name)) for name in functions)
    exports = recorded(HERE.parent)[:2]
    spans, seconds = compare([HERE.parent], exports, passes=1, same_rows=True)
    assert spans == sum(len(spans_of_requests(*export)) for export in exports)
    assert len(seconds) == 1


def test_a_line_has_the_rate_and_against_another_checkout_its_rate_and_the_ratio() -> None:
    assert line("recordings", 3_000, [1.5]).split() == ["recordings", "3,000", "2,000"]
    assert line("recordings", 3_000, [1.5, 3.0]).split()[2:] == ["2,000", "1,000", "2.00"]
