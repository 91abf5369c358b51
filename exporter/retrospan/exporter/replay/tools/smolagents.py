"""smolagents: its tools, also those that it brings itself, such as the one that gives the final answer."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from retrospan.exporter.replay.current import current
from retrospan.exporter.replay.exchange import Wanted
from retrospan.exporter.replay.patches import patch
from retrospan.exporter.replay.tools.given import as_json, inside, is_inside, value_of

_TOOLS: Any = import_module("smolagents.tools")


def install() -> None:
    """Answer the tools of every agent. Harmless when installed."""
    patch(_TOOLS.Tool, "__call__", _call)


def _call(original: Any, tool: Any, *args: Any, **named: Any) -> Any:
    replaying = current()
    if replaying is None or is_inside():
        return original(tool, *args, **named)
    given = _others(named)
    if len(args) == 1 and not given and isinstance(args[0], dict) and args[0].keys() <= tool.inputs.keys():
        given = args[0]
    else:
        # Code that a model wrote gives arguments by their places as well.
        given = {**dict(zip(tool.inputs, args, strict=False)), **given}
    # OpenInference records a call by places as what `__call__` was given.
    sanitizes = bool(named.get("sanitize_inputs_outputs", False))
    by_place = {"args": [*args], "sanitize_inputs_outputs": sanitizes, "kwargs": _others(named)}
    call = replaying.tool(Wanted(tool.name, as_json(given), (as_json(by_place),)))
    if call is None:
        with inside() as ran:
            return ran(original(tool, *args, **named))
    value = value_of(call)
    if not named.get("sanitize_inputs_outputs"):
        return value
    return import_module("smolagents.agent_types").handle_agent_output_types(value, tool.output_type)


def _others(named: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in named.items() if key != "sanitize_inputs_outputs"}
