"""Clients that run tools themselves and ask the model again, all within one call of the program: whether one asks now.

What instruments such a call from outside makes one span of all its requests, and may tell of the last answer alone.
Then the record looks like that of a model that answered at once.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

#: The module of such a client, what only its loop has among its variables, and what holds the tools that it runs: newer
#: ones ask for these before the request, older ones after the first.
_MODULE = "google.genai.models"
_COUNT, _FUNCTIONS, _CONFIG = "remaining_remote_calls_afc", "function_map", "parsed_config"


def loop_around() -> str:
    """Return the client in whose loop the request is made that is under way in this thread, '' where it is in none."""
    frame: FrameType | None = sys._getframe(1) if _MODULE in sys.modules else None
    while frame is not None:
        if frame.f_globals.get("__name__") == _MODULE and _runs_tools(frame.f_locals):
            return _MODULE.rpartition(".")[0]
        frame = frame.f_back
    return ""


def _runs_tools(variables: dict[str, Any]) -> bool:
    if _COUNT not in variables:
        return False
    if _FUNCTIONS in variables:
        return bool(variables[_FUNCTIONS])
    tools = getattr(variables.get(_CONFIG), "tools", None)
    return any(callable(tool) for tool in tools or ())
