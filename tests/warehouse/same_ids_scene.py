"""Two tenants whose runs, traces, spans, conversations and entities have the same ids: the same agents, under two names.

python same_ids_scene.py fill DIRECTORY         stores the runs of both
python same_ids_scene.py ask DIRECTORY TENANT   prints the rows of every view without parameters, by view, as JSON;
                                                '' for everybody's rows
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from fix_recordings import Recording, load_recording
from warehouse.tenant_scene import config_of, fill

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries import catalogue

#: What the agent of a tenant is called, and what it is called in the recordings.
NAMES = {"acme": b"Anna", "globex": b"Gwen"}
_RECORDED = b"Orla"
_RECORDINGS = (
    *("genai-openai.span_and_event/loop", "genai-openai.span_and_event/tool_error"),
    *("genai-openai.span_and_event/multiturn", "langgraph-openinference/loop"),
    *("langgraph-openinference/tool_error", "langgraph-openinference/multiturn"),
)


def renamed(tenant: str) -> Recording:
    """Everything that was recorded, as the tenant's agent would have sent it; all names have one length."""
    recordings = [load_recording(name) for name in _RECORDINGS]
    bodies = tuple(
        body.replace(_RECORDED, NAMES[tenant]).replace(_RECORDED.lower(), NAMES[tenant].lower())
        for recording in recordings
        for body in recording.traces
    )
    return replace(recordings[0], traces=bodies)


def ask(directory: Path, tenant: str) -> None:
    import chdb

    connect: Any = chdb.connect  # its type depends on the version
    store = EmbeddedStore(connect(f"{directory}?config-file={config_of(directory, tenant)}"), lambda _: None)
    store.command("USE retrospan")
    found: dict[str, list[dict[str, object]]] = {}
    for view in catalogue.views():
        if not view.parameters:
            names = [column.name for column in view.columns]
            found[view.name] = [
                dict(zip(names, row, strict=True)) for row in store.rows(f"SELECT * FROM {view.name}")
            ]
    print(json.dumps(found, default=str))
    store.close()


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill(Path(sys.argv[2]), {tenant: renamed(tenant) for tenant in NAMES})
    else:
        ask(Path(sys.argv[2]), sys.argv[3])
