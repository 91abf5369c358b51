"""`retrospan export` gives back the OTLP that every recorded framework sent, from a real collector."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_cli import Ask, asking
from fix_collector import Served
from fix_recordings import Recording
from sent import logs_in, spans_in

from retrospan.ingest.otlp.json import logs_from_json, traces_from_json


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, recordings: dict[str, Recording]) -> Iterator[Served]:
    """A collector that has all recordings."""
    place: Path = tmp_path_factory.mktemp("export")
    served = Served(place / "data", place / "stderr.txt")
    try:
        for recording in recordings.values():
            served.send(recording.traces, recording.logs)
        served.wait_idle()
        yield served
    finally:
        served.kill()


@pytest.fixture
def export(played: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    return asking(f"http://{played.sql}", monkeypatch, capsys)


@pytest.mark.parametrize(
    ("form", "share"),
    [
        pytest.param("protobuf", 6, marks=pytest.mark.soak),
        pytest.param("protobuf", 1, marks=pytest.mark.soak),
        pytest.param("json", 1, marks=pytest.mark.soak),
    ],
)
def test_what_every_recording_sent_comes_back(
    export: Ask, recordings: dict[str, Recording], tmp_path: Path, form: str, share: int
) -> None:
    """Of all of them, or of every sixth."""
    compared = records = 0
    for recording in list(recordings.values())[::share]:
        sent, sent_logs = spans_in(recording.traces), logs_in(recording.logs)
        found_logs: set[object] = set()
        for trace_id in sorted({trace_id for trace_id, _ in sent}):
            files = [tmp_path / "spans", tmp_path / "logs"]
            said = export(
                *("export", f"trace:{trace_id}", "--format", form),
                *("--otlp", str(files[0]), "--logs", str(files[1])),
            )
            assert said.code == 0, said.err
            bodies = [file.read_bytes() for file in files]
            if form == "json":
                bodies = [traces_from_json(bodies[0]).body or b"", logs_from_json(bodies[1]).body or b""]
            got = spans_in(bodies[:1])
            assert got == {key: members for key, members in sent.items() if key[0] == trace_id}, (
                recording.name
            )
            compared += len(got)
            found_logs |= logs_in(bodies[1:])
        assert found_logs == sent_logs, recording.name
        records += len(found_logs)
    assert compared > 1000 // share and records > 100 // share
