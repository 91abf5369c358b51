"""OpenAI Agents: function tools. An agent that is used as a tool, and a handoff to one, are the program's own, and run."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

from agents import tool as tools

from retrospan.exporter.replay.current import current
from retrospan.exporter.replay.exchange import Wanted
from retrospan.exporter.replay.patches import patch_async
from retrospan.exporter.replay.tools.cancelled import value_or_wait
from retrospan.exporter.replay.tools.given import as_json, inside, is_inside
from retrospan.schemas.bundle.form import Json, ToolCall

#: Newer versions call the first, which the second calls too.
_NAMES = ("_invoke_function_tool_with_metadata", "invoke_function_tool")


#: Where versions hand over.
_HANDOFFS = (
    ("agents.run_internal.turn_resolution", "execute_handoffs"),
    ("agents._run_impl", "execute_handoffs"),
)


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
    _watch_handoffs()


def _answer(function_tool: Any, context: Any, arguments: str) -> ToolCall | None:
    replaying = current()
    if replaying is None or is_inside():
        return None
    wanted = Wanted(function_tool.name, _given(arguments), (), getattr(context, "tool_call_id", None))
    if getattr(function_tool, "_is_agent_tool", False):
        replaying.runs(wanted)
        return None
    return replaying.tool(wanted)


def _given(arguments: str) -> Json:
    try:
        given: object = json.loads(arguments or "{}")
    except ValueError:
        given = arguments
    return as_json(given)


def _watch_handoffs() -> None:
    """Note handoffs as calls that were made; a version whose function has another place has them in the report, as not
    seen.
    """
    for key, name in _HANDOFFS:
        try:
            owner: Any = import_module(key)
        except ImportError:
            continue
        owner = getattr(owner, "RunImpl", owner)
        if hasattr(owner, name):
            original = getattr(owner, name)
            made = patch_async(owner, name, _hand_over)
            for module in [module for key, module in sys.modules.items() if key.startswith("agents.")]:
                if made is not None and getattr(module, name, None) is original:
                    setattr(module, name, made)


async def _hand_over(original: Any, *args: Any, **named: Any) -> Any:
    replaying = current()
    if replaying is not None:
        # Of several the first is done.
        for each in named.get("run_handoffs", ())[:1]:
            asked = each.tool_call
            replaying.runs(
                Wanted(str(asked.name), _given(asked.arguments), (), getattr(asked, "call_id", None))
            )
            # OpenInference tells the handing over itself as well, as a tool that is given the agent's name.
            giver = named.get("public_agent") or named.get("agent")
            replaying.runs(Wanted(f"handoff to {each.handoff.agent_name}", getattr(giver, "name", None), ()))
    return await original(*args, **named)


async def _invoke(original: Any, *, function_tool: Any, context: Any, arguments: str) -> Any:
    call = _answer(function_tool, context, arguments)
    if call is not None:
        return await value_or_wait(call, result_first=True)
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
