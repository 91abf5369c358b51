"""OpenAI Agents: function tools. An agent that is used as a tool is the program's own, and runs."""

from __future__ import annotations

import json
import sys
from typing import Any

from agents import tool as tools

from retrospan.exporter.replay.current import current
from retrospan.exporter.replay.exchange import Wanted
from retrospan.exporter.replay.patches import patch_async
from retrospan.exporter.replay.tools.given import as_json, inside, is_inside, value_of
from retrospan.schemas.bundle.form import ToolCall

#: Newer versions call the first, which the second calls too.
_NAMES = ("_invoke_function_tool_with_metadata", "invoke_function_tool")


def install() -> None:
    """Answer the function tools of every agent. Harmless when installed.

    Raises AttributeError if this version has none of the functions that call a tool.
    """
    name = next((name for name in _NAMES if hasattr(tools, name)), None)
    if name is None:
        raise AttributeError(f"this version of openai-agents has none of {', '.join(_NAMES)}")
    original = getattr(tools, name)
    made = patch_async(tools, name, _invoke if name == _NAMES[1] else _invoke_with_metadata)
    for module in [module for key, module in sys.modules.items() if key.startswith("agents.")]:
        if made is not None and getattr(module, name, None) is original:
            setattr(module, name, made)


def _answer(function_tool: Any, context: Any, arguments: str) -> ToolCall | None:
    replaying = current()
    if replaying is None or is_inside() or getattr(function_tool, "_is_agent_tool", False):
        return None
    try:
        given: object = json.loads(arguments or "{}")
    except ValueError:
        given = arguments
    call_id = getattr(context, "tool_call_id", None)
    return replaying.tool(Wanted(function_tool.name, as_json(given), (), call_id))


async def _invoke(original: Any, *, function_tool: Any, context: Any, arguments: str) -> Any:
    call = _answer(function_tool, context, arguments)
    if call is not None:
        return value_of(call, result_first=True)
    if getattr(function_tool, "_is_agent_tool", False):
        return await original(function_tool=function_tool, context=context, arguments=arguments)
    with inside() as ran:
        value = await original(function_tool=function_tool, context=context, arguments=arguments)
        return ran(value, getattr(value, "output", value))


async def _invoke_with_metadata(original: Any, **named: Any) -> Any:
    found: list[Any] = []

    async def run(**inner: Any) -> Any:
        found.append(await original(**inner))
        return found[-1]

    value = await _invoke(run, **named)
    return found[0] if found else tools._FunctionToolInvocationResult(value)
