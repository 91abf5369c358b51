"""`retrospan sql`: any read-only SQL, in any of five formats."""

from __future__ import annotations

import argparse
import os
import sys

from retrospan.ingest.cli.client.answer_table import AnswerTable
from retrospan.ingest.cli.client.collector_client import ROWS_FORMAT, CollectorClient, RowReading
from retrospan.ingest.cli.client.parameters import parameters_of
from retrospan.ingest.cli.terminal.arguments import Help, Parser, UsageError, add_color_flag
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.values import json_line

HELP = Help(
    job="Run one read-only SQL statement over the views.",
    examples=(
        'retrospan sql "SELECT run_id, outcome FROM runs"',
        'retrospan sql "SELECT name FROM steps WHERE run_id = {run:String}" --param run=4bf92f35 --format json',
        'retrospan sql "SELECT * FROM spans" --format parquet > spans.parquet',
    ),
    more="A terminal shows at most 1,000 rows of a table; a pipe, --wide and the other formats get all. An answer may be\n"
    "of any length: it is written as it comes, under columns as wide as the first 10,000 rows need.",
)
FORMATS = {"csv": "CSVWithNames", "arrow": "ArrowStream", "parquet": "Parquet"}


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
        reading = RowReading(lambda row: screen.data(json_line(row, frozenset()) + "\n"))
        _stream_rows(screen, warehouse, sql, parameters, reading)
        return 0
    table = AnswerTable(screen)
    if _stream_rows(screen, warehouse, sql, parameters, table.reading):
        table.end()
    return 0


def _stream_rows(
    screen: Screen,
    warehouse: CollectorClient,
    sql: str,
    parameters: dict[str, str],
    reading: RowReading,
) -> bool:
    """Have each row read as soon as it has come: an answer may be longer than this process can hold. False for an answer
    in a format of the statement's own, which is written as it is."""
    text = TextOfEngine(screen)
    writes: list[RowReading | TextOfEngine] = []

    def begin(found: str) -> None:
        writes.append(reading if found == ROWS_FORMAT else text)

    warehouse.stream(sql, ROWS_FORMAT, lambda piece: writes[0](piece), parameters, begin)
    writes[0].end()
    return writes[0] is reading


def _pass_through(
    screen: Screen, warehouse: CollectorClient, sql: str, parameters: dict[str, str], wanted: str
) -> None:
    if wanted != "csv" and screen.is_terminal:
        raise UsageError(
            f"--format {wanted} is binary and this is a terminal; redirect it: … --format {wanted} > out.{wanted}",
            "sql",
        )
    text = TextOfEngine(screen)
    warehouse.stream(sql, FORMATS[wanted], text, parameters)
    text.end()


class TextOfEngine:
    """Writes an answer in a format of the engine as it comes: made safe on a terminal, as it is in a pipe."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._binary = None if screen.is_terminal else getattr(screen.out, "buffer", None)
        self._rest = b""
        screen.out.flush()

    def __call__(self, piece: bytes) -> None:
        """Write a piece; of a terminal's only the lines that are whole."""
        if self._binary is not None:
            self._binary.write(piece)
            return
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._line(line)

    def end(self) -> None:
        """Write what is left."""
        if self._rest:
            self._line(self._rest)
        if self._binary is not None:
            self._binary.flush()

    def _line(self, line: bytes) -> None:
        self._screen.line(line.decode(errors="surrogateescape"))
