"""`retrospan export` finds what lists show, and gives it back as it was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_cli import Ask, asking, run_in_terminal
from fix_collector import Served
from fix_recordings import Recording
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_requests import span, traces
from sent import spans_in


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, recordings: dict[str, Recording]) -> Iterator[Served]:
    """A collector that has some recordings."""
    place: Path = tmp_path_factory.mktemp("export")
    served = Served(place / "data", place / "stderr.txt")
    try:
        for name in ("langgraph-openinference/normal", "langgraph-openinference/parallel"):
            served.send(recordings[name].traces, recordings[name].logs)
        served.wait_idle()
        yield served
    finally:
        served.kill()


@pytest.fixture
def export(played: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    return asking(f"http://{played.sql}", monkeypatch, capsys)


@pytest.mark.soak
def test_a_run_and_a_span_are_found_by_what_lists_show(
    export: Ask, played: Served, recordings: dict[str, Recording], tmp_path: Path
) -> None:
    sent = spans_in(recordings["langgraph-openinference/normal"].traces)
    (trace_id, span_id), content = next(iter(sent.items()))
    (run,) = played.rows(
        "SELECT run_id FROM spans WHERE trace_id = {t:String} AND span_id = {s:String}", t=trace_id, s=span_id
    )
    out = tmp_path / "out.pb"
    assert export("export", str(run["run_id"])[:12], "--otlp", str(out)).code == 0
    assert spans_in([out.read_bytes()]) == sent
    for name in (span_id, f"{trace_id}/{span_id}", f"span:{trace_id}/{span_id}"):
        said = export("export", name, "--otlp", str(out))
        assert (said.code, said.err.split(",")[0]) == (0, "1 span")
        assert spans_in([out.read_bytes()]) == {(trace_id, span_id): content}


@pytest.mark.long
def test_a_span_that_was_sent_with_two_contents_is_there_with_both(
    export: Ask, played: Served, tmp_path: Path
) -> None:
    first, second = (span(name, trace_id=b"w" * 16, span_id=b"w" * 8) for name in ("first", "second"))
    bodies = [traces(each).SerializeToString() for each in (first, second, first)]
    played.send(bodies)
    played.wait_idle()
    out = tmp_path / "out.pb"
    assert export("export", (b"w" * 16).hex(), "--otlp", str(out)).code == 0
    assert spans_in([out.read_bytes()]) == spans_in(bodies)
    request = ExportTraceServiceRequest.FromString(out.read_bytes())
    names = [
        each.name for group in request.resource_spans for scope in group.scope_spans for each in scope.spans
    ]
    assert names == ["second", "first"]


def test_standard_output_takes_a_request_unless_it_is_a_terminal(played: Served) -> None:
    said = played.run("export", "last", "--otlp", "-", "--format", "json")
    assert json.loads(said)["resourceSpans"]
    refused = run_in_terminal(["export", "last", "--otlp", "-"], f"http://{played.sql}")
    assert refused.code == 2 and "name a file" in refused.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("last",), "name a file"),
        (("last", "--otlp", "x", "--logs", "x"), "two files"),
        (("trace:" + "0f" * 16, "--otlp", "x"), "no run and no trace"),
        (("0f" * 16, "--otlp", "x"), "no run and no trace"),
        (("span:" + "0f" * 8, "--otlp", "x"), "no span"),
        (("nosuchrun", "--otlp", "x"), "no run starts with"),
    ],
    ids=["no file", "one file", "trace", "run or trace", "span", "run"],
)
def test_what_cannot_be_exported_is_reported_and_nothing_is_written(
    export: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = export("export", *words)
    assert said.code == 2 and told in said.err
    assert list(tmp_path.iterdir()) == []
