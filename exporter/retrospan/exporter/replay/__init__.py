"""Replay: an agent runs again, every model call and every tool call answered from the record of an earlier run.

Loaded only when it is used; it needs the standard library and `retrospan.schemas`. docs/replay.md says what it promises.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retrospan.exporter.replay.beginning import initial_state as initial_state
    from retrospan.exporter.replay.conditions import Edits as Edits
    from retrospan.exporter.replay.session import Replay as Replay
    from retrospan.exporter.replay.session import replay as replay
    from retrospan.exporter.replay.tools.functions import tool as tool

_WHERE = {
    "Edits": "retrospan.exporter.replay.conditions",
    "Replay": "retrospan.exporter.replay.session",
    "initial_state": "retrospan.exporter.replay.beginning",
    "replay": "retrospan.exporter.replay.session",
    "tool": "retrospan.exporter.replay.tools.functions",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
