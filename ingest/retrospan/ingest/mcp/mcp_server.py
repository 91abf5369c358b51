"""The server: tools listed and called, over standard input and output or over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
from jsonschema import Draft202012Validator
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from retrospan.ingest.mcp.answer_text import answer_text, remarks
from retrospan.ingest.mcp.command_runs import SECONDS, CommandRun, CommandRuns
from retrospan.ingest.mcp.front import GONE, Front
from retrospan.ingest.mcp.tools import BY_NAME, CHARACTERS, INSTRUCTIONS, TOOLS, Tool

#: What requests over HTTP may be addressed to, beside what is asked for.
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_Context = ServerRequestContext[Any, Any]


class McpServer:
    """Answers with what the commands print. Every right is that of the token with which the SQL port is asked."""

    def __init__(self, runs: CommandRuns, version: str) -> None:
        self._runs = runs
        self.server: Server[Any] = Server(
            "retrospan",
            version=version,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def serve_stdio(self) -> None:
        """Serve one client on standard input and output, until it hangs up."""
        async with stdio_server() as (read, write):
            await self.server.run(read, write, self.server.create_initialization_options())

    def http_app(self, names: Sequence[str]) -> Front:
        """Return the application that serves any number of clients at `/mcp`.

        Only requests addressed to this machine or to `names` are taken: a page in a browser cannot reach it under
        another name. Each request brings its own token; that of this process is not used.
        """
        app = self.server.streamable_http_app(
            json_response=True,
            stateless_http=True,
            # Front looks closer: here a name is what stands before the first colon, and what is refused is logged.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        return Front(app, [*_LOOPBACK, *names])

    async def _list(
        self, context: _Context, parameters: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        del context, parameters
        return types.ListToolsResult(tools=[_listed(tool) for tool in TOOLS])

    async def _call(self, context: _Context, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        tool = BY_NAME.get(parameters.name)
        if tool is None:
            return _failed(f"There is no tool {parameters.name!r}. Tools: {', '.join(BY_NAME)}.")
        given = parameters.arguments or {}
        wrong = [*Draft202012Validator(tool.schema).iter_errors(given)]
        if wrong:
            return _failed(f"{tool.name}: {_worded(tool, wrong[0].message, [*wrong[0].absolute_path])}")
        given = _as_typed(tool, given)
        if _holds_nul(given):
            return _failed(f"{tool.name}: a text holds the character NUL, which no command line takes.")
        try:
            run = await _unless_gone(context, partial(self._runs.run, tool.words(given), _token(context)))
        except TimeoutError:
            return _failed(f"{tool.name}: no answer after {SECONDS:.0f} s. Ask for less.")
        if run is None:
            return _failed(f"{tool.name}: the client hung up.")
        if run.code != 0:
            return _failed("\n".join(remarks(run.explained) or [f"{tool.name} ended with {run.code}."]))
        text = answer_text(
            tool.name,
            given,
            run.output,
            run.explained,
            is_whole=run.is_whole,
            most=given.get("max_characters", CHARACTERS),
        )
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def _unless_gone(context: _Context, ask: Callable[[], Awaitable[CommandRun]]) -> CommandRun | None:
    """Return what came of it, or None if the client of a request over HTTP hung up: then the command was ended."""
    gone = None if context.request is None else context.request.scope[GONE]
    if gone is None:
        return await ask()
    found: CommandRun | TimeoutError | None = None
    async with anyio.create_task_group() as tasks:

        async def leave() -> None:
            await gone.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(leave)
        try:
            found = await ask()
        except TimeoutError as error:
            # Out of here it would come as a group of errors.
            found = error
        tasks.cancel_scope.cancel()
    if isinstance(found, TimeoutError):
        raise found
    return found


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.job,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def _worded(tool: Tool, message: str, path: Sequence[str | int]) -> str:
    place = f"{'.'.join(map(str, path))}: " if path else ""
    return f"{place}{message[:500]}. Arguments: {', '.join(tool.schema['properties'])}."


def _as_typed(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with whole numbers written as such: to JSON Schema 2.0 is an integer."""
    properties = tool.schema["properties"]
    return {
        name: int(value) if isinstance(value, float) and properties[name].get("type") == "integer" else value
        for name, value in given.items()
    }


def _holds_nul(given: object) -> bool:
    """Return whether a text in this has the one character that no argument of a process can have."""
    if isinstance(given, dict):
        return any(map(_holds_nul, (*given.keys(), *given.values())))
    return isinstance(given, str) and "\0" in given


def _token(context: _Context) -> str | None:
    """Return the token of a request over HTTP, '' if it has none; None for what comes over standard input."""
    request = context.request
    if request is None:
        return None
    scheme, _, token = str(request.headers.get("authorization", "")).partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
