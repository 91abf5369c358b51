"""Bundles of recordings, each made as `retrospan bundle` makes it: through a collector, from the views."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fix_collector import Served
from fix_recordings import Recording
from fix_why import session_of

from retrospan.ingest.cli.views.bundle_rows import read_run
from retrospan.schemas.bundle.form import Bundle


@contextmanager
def serving() -> Iterator[Served]:
    """A collector with nothing in it."""
    with TemporaryDirectory() as place:
        served = Served(Path(place) / "data", Path(place) / "log")
        try:
            yield served
        finally:
            served.stop()


def bundle_of_recording(served: Served, recording: Recording) -> Bundle:
    """Send a recording, and return its runs, in the order of their start."""
    before = _runs(served)
    served.send(recording.traces, recording.logs)
    served.wait_idle()
    session = session_of(f"http://{served.sql}")
    runs = [read_run(session, run_id) for run_id in _runs(served) if run_id not in before]
    made_by = {version for _, version in runs}
    return Bundle(made_by="the kit", rules=", ".join(sorted(made_by)), runs=tuple(run for run, _ in runs))


def _runs(served: Served) -> list[str]:
    return [str(row["run_id"]) for row in served.rows("SELECT run_id FROM runs ORDER BY started_at, run_id")]
