"""The same spans give the same rows in any order and number; another run of the same kind compares as equal."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from fix_recordings import Recording, load_recording, manifest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewritten import IDS
from sampling import one_in
from spans import read_runs, spans_of_requests

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.rows.rows import rows_of
from retrospan.ingest.interpret.spans.span import Span
from retrospan.ingest.interpret.tree.tree import Tree


def _rows(spans: list[Span]) -> list[Rows]:
    return [rows_of(run, "default", 1, None) for run in read_runs(spans)]


def _rewritten(spans: list[Span], shift_ns: int) -> list[Span]:
    """Return the same run with other trace, span, call, response and message ids, and other times."""

    def text(value: object) -> object:
        if isinstance(value, str):
            return IDS.sub(lambda found: f"other_{found[0][::-1]}", value)
        if isinstance(value, list):
            return [text(item) for item in value]
        if isinstance(value, dict):
            return {key: text(item) for key, item in value.items()}
        return value

    def id_of(old: str, length: int) -> str:
        return f"{(int(old, 16) * 31 + 7) % (1 << (4 * length)):0{length}x}" if old else ""

    out = []
    for span in spans:
        new = replace(
            span,
            trace_id=id_of(span.trace_id, 32),
            span_id=id_of(span.span_id, 16),
            parent_span_id=id_of(span.parent_span_id, 16),
            started_at=span.started_at + shift_ns,
            ended_at=span.ended_at + shift_ns,
            attributes={key: text(value) for key, value in span.attributes.items()},
            logs=[
                replace(
                    log,
                    body=text(log.body),
                    attributes={key: text(value) for key, value in log.attributes.items()},
                )
                for log in span.logs
            ],
        )
        out.append(new)
    return out


_COMPARED: tuple[Callable[[Rows], object], ...] = (
    lambda rows: [(s.step_kind, s.name, s.status, s.node, s.framework_step) for s in rows.steps],
    lambda rows: [(s.state_before_hash, s.state_after_hash) for s in rows.steps],
    lambda rows: [(c.call_hash, c.input_hash, c.output_hash) for c in rows.model_calls],
    lambda rows: [(t.tool_name, t.arguments_hash, t.result_hash) for t in rows.tool_calls],
    lambda rows: [(v.kind, v.hash, v.role, v.first_call) for v in rows.values if v.kind == "message"],
)


#: The recorded variants: what instruments which framework, in which mode.
VARIANTS = sorted({name.split("/")[0] for name in manifest()})
SEEDS = st.integers(min_value=0, max_value=2**32)


def _in_another_order(spans: list[Span], seed: int) -> list[Span]:
    """Return the spans as another delivery of the same requests leaves them: mixed, some of them twice."""
    chance = random.Random(seed)
    mixed = [*spans, *chance.sample(spans, len(spans) // 2)]
    chance.shuffle(mixed)
    return mixed


@pytest.mark.long
@settings(max_examples=3, deadline=None, database=None)
@given(seed=SEEDS)
def test_order_and_duplicates_do_not_matter(recording: Recording, seed: int) -> None:
    spans = spans_of_requests(recording.traces, recording.logs)
    assert _rows(_in_another_order(spans, seed)) == _rows(spans)


@pytest.mark.parametrize("variant", one_in(4, VARIANTS))
def test_no_order_of_two_hundred_matters(variant: str) -> None:
    """For each variant 200 orders, over all that is recorded of it."""
    names = [name for name in sorted(manifest()) if name.split("/")[0] == variant]
    recordings = [load_recording(name) for name in names]
    spans = [spans_of_requests(recording.traces, recording.logs) for recording in recordings]
    expected = [_rows(own) for own in spans]
    tried: set[tuple[int, int]] = set()

    @settings(max_examples=200, deadline=None, database=None)
    @given(st.integers(0, len(names) - 1), SEEDS)
    def check(which: int, seed: int) -> None:
        tried.add((which, seed))
        assert _rows(_in_another_order(spans[which], seed)) == expected[which]

    check()
    assert len(tried) == 200


def test_the_same_run_with_other_ids_and_times_compares_as_equal(recording: Recording) -> None:
    if recording.name.startswith("smolagents/"):
        pytest.skip("tells the model the ids of its calls in plain text: another text is another message")
    spans = spans_of_requests(recording.traces, recording.logs)
    for one, other in zip(_rows(spans), _rows(_rewritten(spans, 86_400_000_000_000)), strict=True):
        assert one.runs[0].run_id != other.runs[0].run_id
        for compared in _COMPARED:
            assert compared(one) == compared(other)


def test_cycles_and_self_parents_end(recordings: dict[str, Recording]) -> None:
    spans = spans_of_requests(recordings["genai-openai.span_only/normal"].traces)
    spans[0].parent_span_id = spans[0].span_id
    spans[1].parent_span_id, spans[2].parent_span_id = spans[2].span_id, spans[1].span_id
    (rows,) = _rows(spans)
    assert len(rows.steps) == 9
    assert len(Tree([]).spans) == 0
