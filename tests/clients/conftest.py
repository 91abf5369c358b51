"""A collector with recorded runs, and what a client must find in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from fix_collector import Served
from fix_recordings import load_recording, manifest

from retrospan.queries import catalogue

#: Enough that answers have several blocks of rows, and values of every kind that frameworks send.
_RECORDINGS = 12


@dataclass(frozen=True)
class Scene:
    """Where to ask, and the numbers that answers are compared with."""

    served: Served
    facts: Mapping[str, object]


@pytest.fixture(scope="package")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder: Path = tmp_path_factory.mktemp("clients")
    served = Served(folder / "data", folder / "stderr.txt", "--jaeger", "127.0.0.1:0")
    for name in list(manifest())[:_RECORDINGS]:
        recording = load_recording(name)
        served.send(recording.traces, recording.logs)
    served.wait_idle()
    views = catalogue.views()
    counted = {
        name: int(served.rows(f"SELECT count() AS n FROM {name}")[0]["n"]) for name in ("runs", "spans")
    }
    assert counted["runs"] >= _RECORDINGS
    yield Scene(
        served,
        {
            **counted,
            "views": len(views),
            "plain_views": sum(not view.parameters for view in views),
            "columns": sum(len(view.columns) for view in views),
            "columns_of_drift": len(catalogue.load("drift").columns),
            "comment": next(c.meaning for c in catalogue.load("runs").columns if c.name == "run_id"),
        },
    )
    served.kill()
