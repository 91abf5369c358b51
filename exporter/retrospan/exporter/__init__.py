"""What runs inside the agent's process: `instrument()`, recording of state, redaction, delivery. A guest there.

Importing this package loads nothing but itself: each name below is loaded when it is first asked for. It depends on
the standard library, OpenTelemetry, `requests` and `retrospan.schemas`, and never raises into the agent.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retrospan.exporter.instrumentation import Instrumentation as Instrumentation
    from retrospan.exporter.instrumentation import instrument as instrument
    from retrospan.exporter.recording import approve as approve
    from retrospan.exporter.recording import checkpoint as checkpoint
    from retrospan.exporter.recording import compaction as compaction
    from retrospan.exporter.recording import correct as correct
    from retrospan.exporter.recording import decide as decide
    from retrospan.exporter.recording import derive as derive
    from retrospan.exporter.recording import deterministic as deterministic
    from retrospan.exporter.recording import effect as effect
    from retrospan.exporter.recording import observe as observe
    from retrospan.exporter.recording import output as output
    from retrospan.exporter.recording import run as run
    from retrospan.exporter.recording import state as state
    from retrospan.exporter.recording import step as step
    from retrospan.exporter.recording import use as use

_RECORDING = (
    "run",
    "step",
    "state",
    "decide",
    "deterministic",
    "observe",
    "correct",
    "use",
    "derive",
    "output",
    "effect",
    "checkpoint",
    "compaction",
    "approve",
)
_WHERE = {
    "Instrumentation": "retrospan.exporter.instrumentation",
    "instrument": "retrospan.exporter.instrumentation",
    **dict.fromkeys(_RECORDING, "retrospan.exporter.recording"),
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
