"""`deterministic()`: what a program draws from outside is on its run's spans, and comes back in a replay."""

from __future__ import annotations

import json
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Thread
from time import time as now
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from replay.recorded import weather_bundle

from retrospan.exporter.recording import deterministic, draws, spanning
from retrospan.exporter.recording.draws import Draws
from retrospan.exporter.replay import replay
from retrospan.schemas.attributes import DRAWS
from retrospan.schemas.bundle.form import Bundle

Spans = Callable[[], list[ReadableSpan]]
HERE = __name__


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
    monkeypatch.setattr(spanning._Cached, "tracer", None)
    yield lambda: list(memory.get_finished_spans())
    provider.shutdown()


def told(span: ReadableSpan) -> dict[str, Any]:
    text = (span.attributes or {})[DRAWS]
    assert isinstance(text, str)
    found: dict[str, Any] = json.loads(text)
    return found


def draw() -> list[object]:
    """Everything that is recorded without further asking; `now` was imported by its name before."""
    return [
        time.time(), time.time_ns(), time.monotonic(), time.monotonic_ns(), now(), uuid.uuid4(), uuid.uuid1(),
        random.random(), random.choice("abc"), random.sample(range(99), 3), random.randint(1, 9),
    ]  # fmt: skip


def replayed(*recorded: dict[str, Any]) -> Bundle:
    bundle = weather_bundle()
    return replace(bundle, runs=(replace(bundle.runs[0], draws=recorded),))


def test_draws_come_back(spans: Spans) -> None:
    with deterministic():
        first = draw()
    with deterministic():
        second = draw()
    one, two = map(told, spans())
    assert {span.name for span in spans()} == {"deterministic"}
    with replay(replayed(one, two)) as session:
        with deterministic():
            assert draw() == first
        with deterministic():
            assert draw() == second
    kinds = {each["how"] for each in session.report.edges}
    assert kinds == {"recorded", "deterministic"}
    assert "drawn from outside: " in "\n".join(session.report.lines())
    with deterministic():
        assert draw() != first


def test_they_are_on_the_span_that_is_there(spans: Spans) -> None:
    with spanning.tracer().start_as_current_span("agent"), deterministic():
        time.time()
    (span,) = spans()
    assert span.name == "agent"
    assert told(span)["edges"] == [
        {"edge": f"{HERE}.test_they_are_on_the_span_that_is_there time.time", "how": "recorded", "why": ""}
    ]


def test_what_is_not_on_record_is_real_and_unknown(spans: Spans) -> None:
    with deterministic():
        time.time()
    (recorded,) = map(told, spans())
    recorded["values"] = {f"{HERE}.ask time.time": ["no time"], f"{HERE}.ask uuid.uuid4": ["no id"]}

    def ask() -> tuple[float, uuid.UUID, float]:
        return time.time(), uuid.uuid4(), time.monotonic()

    ask.__code__ = ask.__code__.replace(co_qualname="ask")
    with replay(replayed(recorded)) as session:
        with deterministic():
            at, made, monotonic = ask()
        with deterministic():
            random.random()
    assert abs(at - time.time()) < 3600 and made.version == 4 and monotonic > 0
    assert [(each["how"], each["why"]) for each in session.report.edges] == [
        ("unknown", "not on record"),
        ("unknown", "the record holds something else"),
        ("unknown", "the record holds something else"),
        ("unknown", "the seed is not on record"),
    ]


@pytest.mark.parametrize("record", [{}, {"values": None}, {"values": {"x": 1}, "seed": "7"}, {"seed": True}])
def test_a_record_that_is_none_is_no_trouble(record: dict[str, Any]) -> None:
    found = Draws(record)
    assert found.draw("x", lambda: 5, lambda value: value, int) == 5
    assert found.edges()[0]["how"] == "unknown"


def test_random_bytes_only_where_that_is_asked_for(spans: Spans) -> None:
    with deterministic():
        os.urandom(4)
        uuid.uuid4()
    with deterministic(urandom=True, ids=False, clock=False, numbers=False):
        made = os.urandom(4)
        draw()
    one, two = map(told, spans())
    assert [place.split()[1] for place in one["values"]] == ["uuid.uuid4"]
    assert [*two["values"].values()] == [[made.hex()]]


def test_packages_draw_as_always_and_errors_are_the_programs_own(spans: Spans) -> None:
    with deterministic(urandom=True):
        # Python's own code makes these.
        random.Random().random()
        uuid.uuid5(uuid.NAMESPACE_DNS, "x")
        with pytest.raises(ValueError, match="negative"):
            os.urandom(-1)
        with pytest.raises(IndexError):
            random.choice(())
    assert told(spans()[0])["values"] == {}


def test_threads_find_the_block_and_their_order_is_unknown(spans: Spans) -> None:
    def one() -> float:
        return time.time()

    with deterministic(), ThreadPoolExecutor(1) as pool:
        pool.submit(one).result()
        one()
    (edge,) = told(spans()[0])["edges"]
    assert edge["how"] == "unknown" and "several threads" in edge["why"]


def test_blocks_side_by_side_do_not_mix(spans: Spans) -> None:
    def block(name: str) -> None:
        with spanning.tracer().start_as_current_span(name), deterministic():
            for _ in range(100 if name == "a" else 50):
                time.time()

    threads = [Thread(target=block, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {span.name: [len(each) for each in told(span)["values"].values()] for span in spans()} == {
        "a": [100],
        "b": [50],
    }


def test_what_is_too_much_is_unknown(spans: Spans, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "_MOST_VALUES", 3)
    with deterministic():
        for _ in range(5):
            time.time()
    found = told(spans()[0])
    assert [len(each) for each in found["values"].values()] == [3]
    assert found["edges"][0]["why"] == "too much to be recorded"


def test_recording_that_fails_reaches_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **named: object) -> None:
        raise RuntimeError("no")

    for name in ("draw", "told"):
        monkeypatch.setattr(Draws, name, fail)
    with deterministic():
        assert time.time() > 0
        assert uuid.uuid4().version == 4


def test_without_a_block_nothing_is_taken_down() -> None:
    with deterministic() as block:
        pass
    time.time()
    assert block.draws.edges() == []
