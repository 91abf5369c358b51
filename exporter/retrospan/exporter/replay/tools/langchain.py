"""LangChain's tools, which LangGraph's agents use: the function inside a tool is answered, so that callbacks and
messages stay its own.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from langchain_core.tools.base import BaseTool

from retrospan.exporter.replay.current import current
from retrospan.exporter.replay.exchange import Wanted
from retrospan.exporter.replay.patches import patch, patch_async
from retrospan.exporter.replay.tools.cancelled import value_or_wait
from retrospan.exporter.replay.tools.given import as_json, inside, is_inside, value_of
from retrospan.schemas.bundle.form import Json, ToolCall

#: What the tool was called with: its arguments as the model wrote them, and the id of the call.
_ASKED: ContextVar[tuple[Json, str | None] | None] = ContextVar("retrospan-replay-langchain", default=None)


def install() -> None:
    """Answer the tools of every class, also of those that are defined later. Harmless when installed."""
    patch(BaseTool, "run", _run)
    patch_async(BaseTool, "arun", _arun)


def _run(original: Any, tool: Any, tool_input: Any, *args: Any, **named: Any) -> Any:
    if current() is None:
        return original(tool, tool_input, *args, **named)
    _hook(type(tool))
    token = _ASKED.set(_asked(tool, tool_input, named))
    try:
        return original(tool, tool_input, *args, **named)
    finally:
        _ASKED.reset(token)


async def _arun(original: Any, tool: Any, tool_input: Any, *args: Any, **named: Any) -> Any:
    if current() is None:
        return await original(tool, tool_input, *args, **named)
    _hook(type(tool))
    token = _ASKED.set(_asked(tool, tool_input, named))
    try:
        return await original(tool, tool_input, *args, **named)
    finally:
        _ASKED.reset(token)


def _asked(tool: Any, tool_input: Any, named: dict[str, Any]) -> tuple[Json, str | None]:
    given = tool_input
    if isinstance(tool_input, dict):
        without = getattr(tool, "_filter_injected_args", None)
        given = without(tool_input) if without is not None else tool_input
    return as_json(given), named.get("tool_call_id")


def _hook(kind: type[Any]) -> None:
    """Put ourselves around the function of each class that has one of its own."""
    for each in kind.__mro__:
        if issubclass(each, BaseTool):
            if "_run" in vars(each):
                patch(each, "_run", _inner)
            if "_arun" in vars(each):
                patch_async(each, "_arun", _inner_async)


def _answer(tool: Any, named: dict[str, Any]) -> ToolCall | None:
    replaying, asked = current(), _ASKED.get()
    if replaying is None or asked is None or is_inside():
        return None
    known = {key: value for key, value in named.items() if key in tool.args}
    others = (as_json(known), *_alone(asked[0]))
    return replaying.tool(Wanted(tool.name, asked[0], others, asked[1], _effect(tool)))


def _alone(given: Json) -> tuple[Json, ...]:
    """Return the text that is the only argument: OpenInference records it without its name, where no model asked for
    the call.
    """
    only = [*given.values()] if isinstance(given, dict) and len(given) == 1 else []
    return tuple(each for each in only if isinstance(each, str))


def _effect(tool: Any) -> str | None:
    """Return what the tool's metadata say that it does to the world, under the name that recording uses."""
    said = (getattr(tool, "metadata", None) or {}).get("retrospan.effect")
    return said if isinstance(said, str) else None


def _shaped(tool: Any, found: Json) -> Any:
    return (found, None) if tool.response_format == "content_and_artifact" else found


def _told(tool: Any, value: Any) -> Any:
    """Return of what a tool returned that which the model is told."""
    has_artifact = tool.response_format == "content_and_artifact" and isinstance(value, tuple)
    return value[0] if has_artifact else value


def _inner(original: Any, tool: Any, *args: Any, **named: Any) -> Any:
    call = _answer(tool, named)
    if call is not None:
        return _shaped(tool, value_of(call))
    with inside() as ran:
        value = original(tool, *args, **named)
        return ran(value, _told(tool, value))


async def _inner_async(original: Any, tool: Any, *args: Any, **named: Any) -> Any:
    call = _answer(tool, named)
    if call is not None:
        return _shaped(tool, await value_or_wait(call))
    with inside() as ran:
        value = await original(tool, *args, **named)
        return ran(value, _told(tool, value))
