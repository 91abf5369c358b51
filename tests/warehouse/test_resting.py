"""At rest the engine's code is given back, and it answers as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrospan.ingest.machine.operating_system import forget_code
from retrospan.ingest.warehouse import resting as resting_module
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.ingest.warehouse.resting import LIBRARY, Resting


def file_pages() -> int:
    """Bytes of files that this process has in memory."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssFile:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the kernel does not say")


@pytest.mark.linux
def test_code_is_given_back_and_there_again_when_it_is_needed(store: EmbeddedStore) -> None:
    question = "SELECT uniqExact(number % 97), median(number) FROM numbers(10000)"
    before = store.rows(question)
    held = file_pages()
    assert forget_code(LIBRARY) > 100 << 20
    assert file_pages() < held - (20 << 20)
    for _ in range(3):
        assert store.rows(question) == before
        forget_code(LIBRARY)


def test_a_library_that_is_not_there_has_no_code() -> None:
    assert forget_code("no such library") == 0


def test_it_waits_until_nothing_happens_any_more_and_looks_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            return self.now

    clock, forgotten, done = Clock(), list[float](), 0
    monkeypatch.setattr(resting_module, "time", clock)
    monkeypatch.setattr(resting_module, "forget_code", lambda library: forgotten.append(clock.now))
    rested = list[float]()
    resting = Resting(lambda: done, lambda: rested.append(clock.now))
    for _ in range(5):
        clock.now += resting_module._QUIET_SECONDS
        done += 1
        resting.run_once()
    assert forgotten == []
    first = clock.now + resting_module._QUIET_SECONDS
    while clock.now < first + resting_module._AGAIN_SECONDS:
        clock.now += 1
        resting.run_once()
    assert forgotten == rested == [first, first + resting_module._AGAIN_SECONDS]


def test_an_engine_that_rests_answers_as_before(warehouse: EmbeddedWarehouse, store: EmbeddedStore) -> None:
    store.command(
        "INSERT INTO canon_values (run_id, number, json) SELECT 'r', number, toString(number) FROM numbers(5000)"
    )
    question = "SELECT count(), sum(cityHash64(*)) FROM canon_values WHERE run_id = 'r'"
    before = store.rows(question)
    for _ in range(3):
        warehouse.rest()
        assert store.rows(question) == before


def test_nothing_that_was_closed_is_opened_to_rest(tmp_path: Path) -> None:
    closed = EmbeddedWarehouse(tmp_path / "never opened")
    closed.rest()
    assert not closed.path.exists()
