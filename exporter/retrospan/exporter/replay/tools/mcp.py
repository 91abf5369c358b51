"""MCP: what a client's session asks a server to do. The server itself, where it is a process, has to be named to be
started.
"""

from __future__ import annotations

import json
from typing import Any

from mcp.client.session import ClientSession
from mcp.types import CallToolResult, TextContent

from retrospan.exporter.replay.current import current
from retrospan.exporter.replay.exchange import Wanted
from retrospan.exporter.replay.patches import patch_async
from retrospan.exporter.replay.tools.given import as_json, inside, is_inside
from retrospan.schemas.bundle.form import ToolCall


def install() -> None:
    """Answer the calls of every session. Harmless when installed."""
    patch_async(ClientSession, "call_tool", _call)


async def _call(
    original: Any, session: Any, name: str, arguments: Any = None, *args: Any, **named: Any
) -> Any:
    replaying = current()
    if replaying is None or is_inside():
        return await original(session, name, arguments, *args, **named)
    call = replaying.tool(Wanted(name, as_json(arguments or {})))
    if call is None:
        with inside() as ran:
            return ran(await original(session, name, arguments, *args, **named))
    return _result(call)


def _result(call: ToolCall) -> Any:
    """Return the recorded result in the form of MCP: whole where it was recorded so, else its text."""
    if call.error is not None and not call.has_result:
        text = call.error.message or call.error.type or ""
        return CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": True})
    found = call.result
    if isinstance(found, dict) and isinstance(found.get("content"), list):
        return CallToolResult.model_validate(found)
    if isinstance(found, list) and found and all(isinstance(each, dict) and "type" in each for each in found):
        return CallToolResult.model_validate({"content": found})
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    content = [TextContent(type="text", text=text)]
    return CallToolResult.model_validate({"content": content, "isError": call.error is not None})
