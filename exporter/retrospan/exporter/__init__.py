"""What runs inside the agent's process: `instrument()`, recording of state, redaction, delivery. A guest there.

Importing this package loads nothing but itself: each name below is loaded when it is first asked for. It depends on
the standard library, OpenTelemetry, `requests` and `retrospan.schemas`, and never raises into the agent.
"""

from __future__ import annotations

from importlib import import_module

_RECORDING = (
    "run",
    "step",
    "state",
    "decide",
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
