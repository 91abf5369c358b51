"""`retrospan export`: a run, a trace or a span as the OTLP request that was sent."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retrospan.ingest.cli.client.collector_client import CollectorClient, Row
from retrospan.ingest.cli.client.references import find_run
from retrospan.ingest.cli.client.rows import texts_of
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.terminal.arguments import RUN_HELP, Help, Parser, UsageError, add_color_flag
from retrospan.ingest.cli.terminal.screen import Screen
from retrospan.ingest.cli.terminal.text import counted
from retrospan.schemas.errors import NotFound, PermanentError

if TYPE_CHECKING:
    from retrospan.ingest.load.raw_row_reader import Fetch
    from retrospan.schemas.raw import RawLog, RawSpan

HELP = Help(
    job="Write a run, a trace or a span as the OTLP that was sent: every attribute, type, event, link and flag.",
    examples=(
        "retrospan export last --otlp run.pb",
        "retrospan export 4bf92f3577b34da6a3ce929d0e0e4736 --otlp trace.json --logs logs.json --format json",
        "retrospan export 00f067aa0ba902b7 --otlp - --format json",
    ),
    more="Each file is one export request, as /v1/traces and /v1/logs take it; - is standard output. A span that arrived\n"
    "with different contents is written once for each, the last to arrive last.",
)
#: Traces asked for in one statement: their ids travel in its address.
TRACES_AT_ONCE = 200
_TRACE = re.compile(r"(?:trace:)?([0-9a-f]{32})$")
_SPAN = re.compile(r"(?:span:)?(?:([0-9a-f]{32})/)?([0-9a-f]{16})$")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be written: these spans, and the log records that name one of them or only their trace."""

    tenant: str
    trace_ids: list[str]
    span_ids: frozenset[tuple[str, str]]
    one_span: bool

    def has(self, row: RawSpan) -> bool:
        return (row.trace_id, row.span_id) in self.span_ids

    def names(self, row: RawLog) -> bool:
        return (row.trace_id, row.span_id) in self.span_ids or not (self.one_span or row.span_id)


def add_arguments(parser: Parser) -> None:
    parser.inputs.add_argument(
        "what",
        metavar="RUN|TRACE|SPAN",
        help=f"RUN: {RUN_HELP}. TRACE: 32 hex digits. SPAN: 16 hex digits, or TRACE/SPAN. A prefix trace: or "
        "span: tells which is meant",
    )
    parser.flags.add_argument("--otlp", metavar="FILE", help="write the spans there")
    parser.flags.add_argument("--logs", metavar="FILE", help="write the log records of those spans there")
    parser.flags.add_argument(
        "--format", choices=("protobuf", "json"), default="protobuf", metavar="FORMAT",
        help="protobuf (the default) or json",
    )  # fmt: skip
    add_color_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    if not arguments.otlp and not arguments.logs:
        raise UsageError("name a file: --otlp FILE for the spans, --logs FILE for the log records.", "export")
    if arguments.otlp == arguments.logs:
        raise UsageError("--otlp and --logs need two files: each holds one request.", "export")
    arguments.wide, arguments.utc, arguments.json = True, True, True
    session = Session.open(arguments)
    wanted = find_wanted(session, arguments.what)
    if arguments.otlp and not wanted.span_ids:
        raise NotFound(f"{arguments.what} has no span: log records alone tell it, which --logs FILE writes.")
    if arguments.otlp:
        spans = list(read_spans(session.warehouse, wanted))
        _write(session.screen, arguments.otlp, arguments.format, spans=spans)
    if arguments.logs:
        logs = list(read_logs(session.warehouse, wanted))
        _write(session.screen, arguments.logs, arguments.format, logs=logs)
    return 0


def find_wanted(session: Session, typed: str) -> Wanted:
    """Return the spans that RUN, TRACE or SPAN means. Raises NotFound."""
    if span := _SPAN.match(typed.lower()):
        rows = session.ask("find_spans", span_id=span[2])
        rows = [row for row in rows if span[1] in (None, row["trace_id"])]
        if len(rows) > 1:
            listed = "\n".join(f"{row['trace_id']}/{span[2]}" for row in rows)
            raise NotFound(f"'{typed}' is a span of several traces; name one as TRACE/SPAN:\n{listed}")
        if rows:
            return _wanted(rows, one_span=True)
        if typed.startswith("span:") or span[1]:
            raise NotFound(f"there is no span '{typed}' in {session.warehouse.address}.")
    trace = _TRACE.match(typed.lower())
    if trace and typed.startswith("trace:"):
        return _of_trace(session, trace[1])
    try:
        run_id = find_run(session, typed)
    except NotFound:
        if trace is None:
            raise
        # Spans are there before they are read, and some belong to no run.
        return _of_trace(session, trace[1])
    (found,) = session.ask("show_run", run_id=run_id)
    trace_ids = texts_of(found, "trace_ids")
    of_traces = _spans_of(session, trace_ids)
    if not of_traces:  # log records alone tell it
        (tenant,) = (row["tenant"] for row in session.ask("tenant_of_run", run_id=run_id))
        return Wanted(str(tenant), sorted(trace_ids), frozenset(), False)
    rows = [row for row in of_traces if row["run_id"] == run_id]
    if not rows:
        raise NotFound(f"run {run_id} is being interpreted again. Try again in a few seconds.")
    return _wanted(rows)


def read_spans(warehouse: CollectorClient, wanted: Wanted) -> Iterator[RawSpan]:
    """Every content of the wanted spans, by trace, span and arrival."""
    from retrospan.ingest.load.raw_row_reader import parse_spans, span_pages

    for traces in _in_parts(wanted.trace_ids):
        for page in span_pages(_fetch_from(warehouse), wanted.tenant, traces):
            yield from filter(wanted.has, parse_spans(page))


def read_logs(warehouse: CollectorClient, wanted: Wanted) -> Iterator[RawLog]:
    """Yield the log records that name a wanted span, or only its trace."""
    from retrospan.ingest.load.raw_row_reader import log_rows, parse_logs

    for traces in _in_parts(wanted.trace_ids):
        yield from filter(wanted.names, parse_logs(log_rows(_fetch_from(warehouse), wanted.tenant, traces)))


def _fetch_from(warehouse: CollectorClient) -> Fetch:
    from retrospan.ingest.load.raw_row_reader import ROWS_FORMAT

    return lambda statement, parameters: warehouse.fetch(statement, ROWS_FORMAT, parameters)[0]


def _of_trace(session: Session, trace_id: str) -> Wanted:
    rows = _spans_of(session, [trace_id])
    if not rows:
        raise NotFound(f"there is no run and no trace '{trace_id}' in {session.warehouse.address}.")
    return _wanted(rows)


def _spans_of(session: Session, trace_ids: Sequence[str]) -> list[Row]:
    return [row for part in _in_parts(trace_ids) for row in session.ask("spans_of_traces", trace_ids=part)]


def _wanted(rows: Sequence[Row], *, one_span: bool = False) -> Wanted:
    spans = frozenset((str(row["trace_id"]), str(row["span_id"])) for row in rows)
    return Wanted(str(rows[0]["tenant"]), sorted({trace_id for trace_id, _ in spans}), spans, one_span)


def _in_parts(trace_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(trace_ids), TRACES_AT_ONCE):
        yield trace_ids[start : start + TRACES_AT_ONCE]


def _write(
    screen: Screen,
    file: str,
    form: str,
    *,
    spans: Sequence[RawSpan] | None = None,
    logs: Sequence[RawLog] = (),
) -> None:
    # Imported here: no other question builds a request.
    from retrospan.ingest.otlp.raw_rows import logs_request, traces_request

    body = logs_request(logs) if spans is None else traces_request(spans)
    if form == "json":
        from retrospan.ingest.otlp.to_json import logs_to_json, traces_to_json

        body = logs_to_json(body) if spans is None else traces_to_json(body)
    said = counted(len(logs), "log record") if spans is None else counted(len(spans), "span")
    if file == "-":
        _to_standard_output(screen, body, form)
    else:
        with open(file, "wb") as out:
            out.write(body)
    screen.note((f"{said}, {counted(len(body), 'byte')}: {file}", "dim"))


def _to_standard_output(screen: Screen, body: bytes, form: str) -> None:
    if screen.is_terminal:
        raise UsageError(
            f"{form} is not for a terminal; name a file, or pipe it: … --otlp - > run.pb", "export"
        )
    screen.out.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        raise PermanentError("standard output does not accept bytes here; name a file.")
    binary.write(body)
    binary.flush()
