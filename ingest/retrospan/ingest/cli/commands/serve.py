"""`retrospan serve`: the collector."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from retrospan.ingest.cli.terminal.arguments import Help, Parser

HELP = Help(
    job="Run the collector: receive OTLP, keep every span, answer questions.",
    exits="0 stopped by SIGTERM or SIGINT after draining, 2 wrong use or trouble",
    examples=(
        "retrospan serve",
        "retrospan serve --data /var/lib/retrospan --grpc 0.0.0.0:4317 --tokens tokens.toml",
    ),
    more="Every flag has a variable and a key in the TOML file; order: flag, variable, file, default.\n"
    "All settings, with their defaults: docs/configuration.md.\n"
    "Prints one line `ready grpc=… http=… sql=…` on standard output when all ports answer.",
)


def add_arguments(parser: Parser) -> None:
    add = parser.flags.add_argument
    add("--data", metavar="DIR", help="where everything is kept (./retrospan-data; RETROSPAN_DATA)")
    add(
        "--grpc",
        metavar="HOST:PORT",
        help="OTLP over gRPC (127.0.0.1:4317; RETROSPAN_GRPC); port 0 picks one",
    )
    add("--http", metavar="HOST:PORT", help="OTLP over HTTP (127.0.0.1:4318; RETROSPAN_HTTP)")
    add("--sql", metavar="HOST:PORT", help="SQL over HTTP (127.0.0.1:8123; RETROSPAN_SQL)")
    add("--jaeger", metavar="HOST:PORT", help="Jaeger's query API (nowhere; RETROSPAN_JAEGER)")
    add(
        "--warehouse",
        metavar="DSN",
        help="a ClickHouse server: clickhouse://user:password@host:8123 (embedded; RETROSPAN_WAREHOUSE)",
    )
    add(
        "--role", choices=("all", "receive", "interpret"), metavar="ROLE",
        help="all, receive (no interpreting) or interpret (no receiving), on a server (all; RETROSPAN_ROLE)",
    )  # fmt: skip
    add(
        "--tokens", metavar="FILE", help="who may send and query (everyone on this machine; RETROSPAN_TOKENS)"
    )
    add(
        "--open", action="store_true", default=None,
        help="require no tokens, even if other machines can reach an address (RETROSPAN_OPEN)",
    )  # fmt: skip
    add(
        "--host-names",
        metavar="NAMES",
        help="further host names of this collector, separated by commas (RETROSPAN_HOST_NAMES); without tokens others are refused",
    )
    add(
        "--metrics-to",
        metavar="URL",
        help="send the collector's own metrics there, as OTLP over HTTP (nowhere; RETROSPAN_METRICS_TO)",
    )
    add("--config", metavar="FILE", help="a TOML file with these settings (RETROSPAN_CONFIG)")


def run(arguments: argparse.Namespace) -> int:
    from retrospan.ingest.machine.operating_system import require_collectors

    require_collectors()
    from retrospan.ingest.machine.privacy import close_to_others

    close_to_others()
    # Imported here: this is the one command that needs the engine, gRPC and uvicorn.
    from retrospan.ingest.server import serve
    from retrospan.ingest.settings.config import Config

    names = (
        *("data", "grpc", "http", "sql", "jaeger", "warehouse", "role", "tokens", "open", "host_names"),
        "metrics_to",
    )
    flags = {name: getattr(arguments, name) for name in names}
    file = None if arguments.config is None else Path(arguments.config)
    return serve(Config.read(flags, os.environ, file))
