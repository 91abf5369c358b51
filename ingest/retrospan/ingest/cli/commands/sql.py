"""`retrospan sql`: any read-only SQL, in any of five formats."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from retrospan.ingest.cli.client.collector_client import (
    ROWS_FORMAT,
    CollectorClient,
    QueryResult,
    RowReading,
    read_rows,
)
from retrospan.ingest.cli.client.parameters import parameters_of
from retrospan.ingest.cli.terminal.arguments import Help, Parser, UsageError, add_color_flag
from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.table import Column, show_table
from retrospan.ingest.cli.terminal.text import counted
from retrospan.ingest.cli.terminal.values import dump, json_line

HELP = Help(
    job="Run one read-only SQL statement over the views.",
    examples=(
        'retrospan sql "SELECT run_id, outcome FROM runs"',
        'retrospan sql "SELECT name FROM steps WHERE run_id = {run:String}" --param run=4bf92f35 --format json',
        'retrospan sql "SELECT * FROM spans" --format parquet > spans.parquet',
    ),
    more="A terminal shows at most 1,000 rows of a table; a pipe, --wide and the other formats get all.",
)
FORMATS = {"csv": "CSVWithNames", "arrow": "ArrowStream", "parquet": "Parquet"}
TERMINAL_ROWS = 1_000
_NUMBERS = (
    "Int",
    "UInt",
    "Float",
    "Decimal",
    "Nullable(Int",
    "Nullable(UInt",
    "Nullable(Float",
    "Nullable(Decimal",
)


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument(
        "query", metavar="QUERY", help="one statement, or - to read it from standard input"
    )
    parser.output.add_argument(
        "--format", choices=("table", "json", *FORMATS), default="table", metavar="FORMAT",
        help="table, json (one object per line), csv, arrow or parquet",
    )  # fmt: skip
    parser.output.add_argument("--json", action="store_true", help="the same as --format json")
    parser.output.add_argument("--wide", action="store_true", help="do not cut lines to the terminal's width")
    parser.flags.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a value for {NAME:Type} in the statement",
    )
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    screen = Screen.open(arguments.color, wide=arguments.wide)
    warehouse = CollectorClient.from_environ(os.environ)
    sql = (sys.stdin.read() if arguments.query == "-" else arguments.query).strip()
    if not sql:
        raise UsageError("QUERY is empty.", "sql")
    parameters = parameters_of(arguments.param, sql, "sql")
    wanted = "json" if arguments.json else arguments.format
    if wanted in FORMATS:
        _pass_through(screen, warehouse, sql, parameters, wanted)
        return 0
    if wanted == "json":
        _stream_objects(screen, warehouse, sql, parameters)
        return 0
    body, found = warehouse.fetch(sql, ROWS_FORMAT, parameters)
    if found == ROWS_FORMAT:
        _show(screen, read_rows(body))
    else:  # the statement has its own FORMAT clause
        _write_text(screen, body)
    return 0


def _stream_objects(screen: Screen, warehouse: CollectorClient, sql: str, parameters: dict[str, str]) -> None:
    """Write each row as soon as it has come: an answer may be longer than this process can hold."""
    reading = RowReading(lambda row: screen.data(json_line(row, frozenset()) + "\n"))
    own: list[bytes] = []  # of a statement with its own FORMAT clause
    writes: list[Callable[[bytes], object]] = []

    def begin(found: str) -> None:
        writes.append(reading if found == ROWS_FORMAT else own.append)

    warehouse.stream(sql, ROWS_FORMAT, lambda piece: writes[0](piece), parameters, begin)
    if own:
        _write_text(screen, b"".join(own))


def _pass_through(
    screen: Screen, warehouse: CollectorClient, sql: str, parameters: dict[str, str], wanted: str
) -> None:
    if wanted != "csv" and screen.is_terminal:
        raise UsageError(
            f"--format {wanted} is binary and this is a terminal; redirect it: … --format {wanted} > out.{wanted}",
            "sql",
        )
    if screen.is_terminal:
        _write_text(screen, warehouse.fetch(sql, FORMATS[wanted], parameters)[0])
        return
    screen.out.flush()
    binary = getattr(screen.out, "buffer", None)
    if binary is None:
        screen.data(warehouse.fetch(sql, FORMATS[wanted], parameters)[0].decode(errors="surrogateescape"))
        return
    warehouse.stream(sql, FORMATS[wanted], binary.write, parameters)
    binary.flush()


def _write_text(screen: Screen, body: bytes) -> None:
    """Text in a format of the engine: made safe on a terminal, as it is in a pipe."""
    binary = getattr(screen.out, "buffer", None)
    if screen.is_terminal or binary is None:
        text = body.decode(errors="surrogateescape")
        for line in text.removesuffix("\n").split("\n"):
            screen.line(line)
        return
    screen.out.flush()
    binary.write(body)
    binary.flush()


def _show(screen: Screen, answer: QueryResult) -> None:
    rows = answer.rows if screen.width is None else answer.rows[:TERMINAL_ROWS]
    columns = [
        Column(
            name,
            right=kind.startswith(_NUMBERS),
            text=not kind.startswith((*_NUMBERS, "DateTime", "Bool", "UUID")),
        )
        for name, kind in zip(answer.names, answer.types, strict=True)
    ]
    if columns and rows:
        show_table(screen, columns, [[_cell(row[name]) for name in answer.names] for row in rows])
    said = counted(len(answer.rows), "row")
    if len(rows) < len(answer.rows):
        said = f"{len(rows):,} of {said}; all: --wide, or --format json"
    screen.note((said if answer.rows else f"no rows ({', '.join(answer.names)})", "dim"))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, Moment):
        return value.rfc3339()
    if isinstance(value, str):
        return value or '""'
    return dump(value)
