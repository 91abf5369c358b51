"""`retrospan mcp`: the questions as tools for an assistant, over standard input and output or over HTTP."""

from __future__ import annotations

import argparse
import socket
import sys
from typing import TYPE_CHECKING

from retrospan.ingest.cli.main import version
from retrospan.ingest.cli.terminal.arguments import Help, Parser, UsageError, add_color_flag
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.mcp.tools import TOOLS
from retrospan.ingest.settings.setting_values import parse_address
from retrospan.schemas.errors import ConfigError

if TYPE_CHECKING:
    from retrospan.ingest.mcp.mcp_server import McpServer

HELP = Help(
    job="Serve the questions as tools of the Model Context Protocol, for an assistant that looks into a failure.",
    exits="0 the client hung up, 2 wrong use or trouble",
    examples=(
        "retrospan mcp",
        "retrospan mcp --http 127.0.0.1:8124",
        "claude mcp add retrospan -- retrospan mcp",
    ),
    more="Without --http it serves one client on standard input and output, with the rights of RETROSPAN_TOKEN.\n"
    "With it, each request brings a token of its own (Authorization: Bearer), which the collector at RETROSPAN_URL\n"
    f"judges. Tools: {', '.join(tool.name for tool in TOOLS)}. All of them only read.",
)


def add_arguments(parser: Parser) -> None:
    parser.flags.add_argument(
        "--http", metavar="HOST:PORT", default="", help="serve streamable HTTP there, at the path /mcp"
    )
    parser.flags.add_argument(
        "--name",
        metavar="HOST",
        action="append",
        default=[],
        help="with --http: a name under which it may be asked, beside this machine's own; may be given again",
    )
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.name and not arguments.http:
        raise UsageError("--name is for --http only.", "mcp")
    # Here, so that help works without the extra.
    import anyio

    from retrospan.ingest.mcp.command_runs import CommandRuns
    from retrospan.ingest.mcp.mcp_server import McpServer

    server = McpServer(CommandRuns(), version())
    if not arguments.http:
        if sys.stdin.isatty():
            Screen.open(arguments.color).note(
                "waiting for a client on standard input; Ctrl-C ends. A client starts this command by itself."
            )
        anyio.run(server.serve_stdio)
        return 0
    try:
        address = parse_address(arguments.http)
    except ValueError as error:
        raise UsageError(f"--http: '{arguments.http}' is {error}.", "mcp") from error
    _serve_http(server, address.host, address.port, arguments.name)
    return 0


def _serve_http(server: McpServer, host: str, port: int, names: list[str]) -> None:
    import uvicorn

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigError(
            f"--http {host}:{port}: {error.strerror or error}. Choose another address."
        ) from error
    shown = f"[{host}]" if ":" in host else host
    print(f"mcp=http://{shown}:{listening.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server.http_app([*names, shown]), log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])
