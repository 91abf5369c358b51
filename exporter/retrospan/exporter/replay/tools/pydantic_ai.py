"""Pydantic AI: the functions of toolsets. Tools of MCP servers are answered at the session of MCP."""

from __future__ import annotations

from typing import Any

from pydantic_ai import ModelRetry
from pydantic_ai.toolsets.function import FunctionToolset

from retrospan.exporter.replay.current import current
from retrospan.exporter.replay.exchange import Wanted
from retrospan.exporter.replay.patches import patch_async
from retrospan.exporter.replay.tools.cancelled import value_or_wait
from retrospan.exporter.replay.tools.given import as_json, inside, is_inside

#: What Pydantic AI makes of a tool that asks the model to try again.
_RETRIES = ("ToolRetryError", "ModelRetry")


def install() -> None:
    """Answer the tools of every agent. Harmless when installed."""
    patch_async(FunctionToolset, "call_tool", _call)


async def _call(
    original: Any, toolset: Any, name: str, tool_args: Any, ctx: Any, tool: Any, *rest: Any, **named: Any
) -> Any:
    replaying = current()
    if replaying is None or is_inside():
        return await original(toolset, name, tool_args, ctx, tool, *rest, **named)
    call = replaying.tool(Wanted(name, as_json(tool_args), (), getattr(ctx, "tool_call_id", None)))
    if call is None:
        with inside() as ran:
            return ran(await original(toolset, name, tool_args, ctx, tool, *rest, **named))
    if call.error is not None and (call.error.type or "").rpartition(".")[2] in _RETRIES:
        raise ModelRetry(call.error.message or "")
    return await value_or_wait(call)
