"""A run that grew is read with what is kept of its last reading, and has the rows that reading it whole gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from arriving import stages
from fix_recordings import OTHERS, Recording, load_recording, manifest, taken
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import one_in
from spans import read_runs, spans_of_requests

from retrospan.ingest.interpret.normalize.kept_readings import SPAN_BYTES, KeptReadings
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.run import read_spans
from retrospan.ingest.interpret.spans.parse_issues import ParseIssues
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.spans.vocabulary import OPENTELEMETRY

RECORDINGS = {name: load_recording(name) for name in sorted(manifest())} | taken() | taken(OTHERS)
#: One recording of each variant: what instruments which framework, in which mode.
VARIANTS = {name.split("/")[0]: name for name in RECORDINGS}
#: Read in every run of the tests: with log records, events, strays, nodes, streams, nothing but general rules.
ALWAYS = ("genai-openai.event_only", "langgraph-traceloop", "mlflow", "openai-agents", "google-adk")


class _Keeping:
    """Reads traces with what is kept of them, as the interpreting process does."""

    def __init__(self) -> None:
        self.kept: dict[str, KeptReadings] = {}

    @property
    def known(self) -> int:
        return sum(kept.known for kept in self.kept.values())

    def __call__(self, spans: Sequence[Span], problems: ParseIssues) -> list[NormalizedSpan]:
        if not spans:
            return read_spans(spans, problems)
        kept = self.kept.setdefault(spans[0].trace_id, KeptReadings())
        return read_spans(spans, problems, reader=kept)


def _rows(spans: list[Span], read: Callable[..., list[NormalizedSpan]] = read_spans) -> list[Rows]:
    return [rows_of(run, "default", 1, None) for run in read_runs(spans, read=read)]


def _check(recording: Recording, seed: int, number: int) -> int:
    """Compare the rows at each stage of a delivery; return how many spans were known."""
    chance = random.Random(seed)
    keeping, known = _Keeping(), 0
    for traces, logs in stages(recording.traces, recording.logs, chance, number):
        if chance.random() < 0.2 and keeping.kept:
            known += keeping.kept.pop(chance.choice(sorted(keeping.kept))).known  # evicted
        spans = spans_of_requests(traces, logs)
        assert _rows(spans, keeping) == _rows(spans_of_requests(traces, logs))
    return known + keeping.known


@pytest.mark.parametrize("variant", ALWAYS)
def test_a_run_that_grew_has_the_rows_of_one_that_is_read_whole(variant: str) -> None:
    assert _check(RECORDINGS[VARIANTS[variant]], seed=1, number=6) > 0


@pytest.mark.parametrize("variant", one_in(4, sorted(VARIANTS)))
def test_no_delivery_makes_a_difference(variant: str) -> None:
    known = 0

    @settings(max_examples=12, deadline=None, database=None)
    @given(seed=st.integers(0, 2**32), number=st.integers(2, 8))
    def check(seed: int, number: int) -> None:
        nonlocal known
        known += _check(RECORDINGS[VARIANTS[variant]], seed, number)

    check()
    assert known > 0


def _span(**changed: object) -> Span:
    sent = Span(
        trace_id="0" * 31 + "1",
        span_id="0" * 15 + "1",
        parent_span_id="",
        name="chat m",
        kind=3,
        flags=0,
        started_at=10**18,
        ended_at=10**18 + 5,
        status="ok",
        status_message="",
        scope="",
        scope_version="",
        attributes={
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]',
            "gen_ai.usage.input_tokens": "many",
        },
        resource={},
        sequence=1,
    )
    return replace(sent, **changed)  # type: ignore[arg-type]  # fields of the class


def test_an_equal_span_is_known_and_another_is_not() -> None:
    kept = KeptReadings()
    issues = [ParseIssues() for _ in range(5)]
    (first,) = read_spans([_span()], issues[0], reader=kept)
    (second,) = read_spans([again := _span()], issues[1], reader=kept)
    assert kept.known == 1
    assert second.sent is again
    assert second is not first
    assert second.input == first.input
    assert issues[1].found == issues[0].found != {}
    other = _span(attributes={**again.attributes, "gen_ai.request.model": "n"}, sequence=2)
    (third,) = read_spans([other], issues[2], reader=kept)
    assert (third.request_model, kept.known) == ("n", 1)
    read_spans([_span(sequence=2)], issues[3], reader=kept)
    read_spans([_span(sequence=2)], issues[4], OPENTELEMETRY, (), reader=kept)
    assert kept.known == 1


def test_what_is_made_of_a_reading_does_not_reach_what_is_kept() -> None:
    kept = KeptReadings()
    expected = read_spans([_span()], ParseIssues(), reader=KeptReadings())[0]
    (first,) = read_spans([_span()], ParseIssues(), reader=kept)
    first.input.clear()
    first.parameters["added"] = 1
    first.tokens.input = 7
    first.tokens.modal["input_audio"] = 7
    first.finish_reasons.append("added")
    first.request_model = None
    (second,) = read_spans([_span()], ParseIssues(), reader=kept)
    for name in ("input", "parameters", "tokens", "finish_reasons", "request_model"):
        assert getattr(second, name) == getattr(expected, name)
    assert second.tokens.input is None


def test_what_is_kept_takes_as_much_as_its_texts_and_goes_with_its_spans() -> None:
    kept = KeptReadings()
    long = _span(span_id="0" * 15 + "2", attributes={"gen_ai.prompt": "x" * 100_000})
    read_spans([_span(), long], ParseIssues(), reader=kept)
    assert 200_000 < kept.size < 210_000 + 3 * SPAN_BYTES
    read_spans([_span(), long], ParseIssues(), reader=kept)
    assert kept.size < 210_000 + 3 * SPAN_BYTES
    kept.keep_only([_span()])
    assert 0 < kept.size < 2 * SPAN_BYTES
    kept.keep_only([])
    assert kept.size == 0
