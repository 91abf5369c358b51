"""Figures as Markdown: the marks with met or missed, then everything, median and range of the repetitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.load import Load, Shape
from bench.measure import Figures

GB = 1e9


@dataclass(frozen=True, slots=True)
class Mark:
    """What a figure is to reach: at least, or less than. `loads` are the shapes it is asked of; () is all."""

    figure: str
    what: str
    bound: float
    at_least: bool
    show: Callable[[float], str]
    loads: tuple[str, ...] = ()

    def met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value < self.bound

    @property
    def wanted(self) -> str:
        return f"{'at least' if self.at_least else 'under'} {self.show(self.bound)}"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _ratio(value: float) -> str:
    return f"{value:.2f}"


def _gigabytes(value: float) -> str:
    return f"{value / GB:.2f} GB"


def _share(value: float) -> str:
    return f"{value:.3f}"


MARKS = (
    Mark(
        "acks_ratio",
        "acknowledged durably, over gRPC, against the floor",
        0.8,
        True,
        _ratio,
        ("small", "medium"),
    ),
    Mark(
        "p99_ratio", "p99 from request to ack, against the floor's", 3.0, False, _ratio, ("small", "medium")
    ),
    Mark("queryable_ratio", "queryable raw spans, against one direct insert", 0.6, True, _ratio, ("medium",)),
    Mark("interpreted", "interpreted again, all cores, spans/s", 3_000.0, True, _rate, ("medium",)),
    Mark("step_core", "the pure core, spans per second of one core", 3_000.0, True, _rate),
    Mark("linear", "the pure core with runs ten times as long, against it", 0.9, True, _ratio, ("medium",)),
    Mark("memory", "peak memory of all processes of the collector", 1.5 * GB, False, _gigabytes),
    Mark("memory_steady", "the same at 1,000 spans/s", 0.6 * GB, False, _gigabytes, ("medium",)),
    Mark("disk_raw", "disk: raw tables, bytes per byte sent", 0.04, False, _share, ("long",)),
    Mark("disk_archive", "disk: archive, bytes per byte of the log", 0.08, False, _share, ("long",)),
)
ROWS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("acks", "durable acks over gRPC, spans/s", _rate),
    ("floor_acks", "the floor: parse, append, sync, ack; spans/s", _rate),
    ("acks_ratio", "ratio", _ratio),
    ("p50_ms", "request to ack, p50 ms", _rate),
    ("p99_ms", "request to ack, p99 ms", _rate),
    ("floor_p50_ms", "the floor, p50 ms", _rate),
    ("floor_p99_ms", "the floor, p99 ms", _rate),
    ("p99_ratio", "ratio of the p99", _ratio),
    ("http_acks", "durable acks over HTTP/protobuf, spans/s", _rate),
    ("http_p50_ms", "request to ack over HTTP, p50 ms", _rate),
    ("http_p99_ms", "request to ack over HTTP, p99 ms", _rate),
    ("gzip_acks", "durable acks over HTTP/protobuf in gzip, spans/s", _rate),
    ("gzip_p99_ms", "request to ack in gzip, p99 ms", _rate),
    ("queryable", "queryable raw spans/s", _rate),
    ("direct", "one direct insert of the same bytes, spans/s", _rate),
    ("queryable_ratio", "ratio", _ratio),
    ("cpu_ms", "processor time until queryable, ms per 1,000 spans", _rate),
    ("visible", "from send to visible as runs, spans/s", _rate),
    ("interpreted", "interpreted again by `rebuild`, spans/s", _rate),
    ("step_read", "of that: reading raw rows alone, spans/s", _rate),
    ("step_core", "of that: the pure core alone, spans per second of one core", _rate),
    ("step_core_longer", "the pure core, runs ten times as long", _rate),
    ("linear", "ratio", _ratio),
    ("step_write", "of that: writing canonical rows alone, spans/s", _rate),
    ("memory", "peak memory of all processes of the collector", _gigabytes),
    ("memory_steady", "the same at 1,000 spans/s", _gigabytes),
    ("memory_idle", "memory of all processes before the first request", _gigabytes),
    ("disk_raw", "disk: raw tables, bytes per byte sent", _share),
    ("disk_canonical", "disk: canonical tables, bytes per byte sent", _share),
    ("disk_log", "disk: write-ahead log, bytes per byte sent", _ratio),
    ("disk_archive", "disk: archive, bytes per byte of the log", _share),
    ("others", "cores that other processes kept busy meanwhile", _ratio),
)
HOW_TO_READ = """\
Every figure is the median of the repetitions, with the lowest and the highest behind it. In each repetition the floor,
the collector and the direct insert take turns on the same machine with the same bytes, each on an empty directory, so
ratios say more than rates: sender and receiver share the cores.

- Spans are those of made-up agent runs: `invoke_agent`, steps, chats whose input holds the whole history so far, tool
  calls. Runs are interleaved, 100 spans a request, serialised before the clock starts, 4 connections.
- The **floor** is a gRPC server in a process of its own that parses each request with the official classes, appends
  its bytes to a file and syncs it before it answers; requests that wait together share a sync. It has its turn before
  and after the collector.
- **In gzip** the bodies are compressed before the clock starts.
- **Acknowledged** runs from the first send to the last answer. The collector loads and interprets meanwhile.
- **Queryable** runs from the first send until the SQL port counts every span, asked over HTTP. The **direct insert**
  puts the same bytes into the same table with one statement in an otherwise idle process.
- **Visible** runs from the first send until every run is there.
  **Interpreted again** is the interpreting part of `retrospan rebuild`. Its steps are measured alone, one thread.
- The **pure core** is one thread's processor time. Runs ten times as long have spans of the same size.
- **Peak memory** is the most that all processes of the collector held together, by ten looks a second, the engine's
  library (about 0.28 GB of it in use) included. `python -m bench.flood` has that of minutes at twice the capacity.
- The archive is that of the segments that were full, once the first of them is archived.
- Disk is as it lies right after loading and before all parts are merged, by active parts."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A shape with the loads that were sent and the figures of every repetition."""

    shape: Shape
    taken: Load
    interpreted: Load
    repetitions: Sequence[Figures]

    def values(self, figure: str) -> list[float]:
        """One for each repetition; none of a figure that is not measured with this shape."""
        return [figures[figure] for figures in self.repetitions if figure in figures]


def render(machine: Mapping[str, str], measured: Sequence[Measured], took_seconds: float) -> str:
    """Return the page."""
    repetitions = max(len(one.repetitions) for one in measured)
    lines = ["# Speed and size", "", "Written by `make bench`.", ""]
    lines += [f"- {name}: {fact}" for name, fact in machine.items()]
    lines += [f"- Repetitions: {repetitions}, in {took_seconds:.0f} s altogether", "", "## Marks", ""]
    lines += table(("mark", "wanted", "load", "measured", ""), _mark_rows(measured))
    lines += ["", "## All figures", ""]
    lines += table(("", *(one.shape.name for one in measured)), _figure_rows(measured))
    lines += ["", "## How to read it", "", HOW_TO_READ, ""]
    return "\n".join(lines)


def spread(values: Sequence[float], show: Callable[[float], str]) -> str:
    """Return the median, and the range where there is one; '' for nothing."""
    if not values:
        return ""
    low, middle, high = show(min(values)), show(median(values)), show(max(values))
    return middle if low == high else f"{middle} ({low} - {high})"


def _mark_rows(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    return [
        (
            mark.what,
            mark.wanted,
            one.shape.name,
            spread(one.values(mark.figure), mark.show),
            "met" if mark.met(median(one.values(mark.figure))) else "**missed**",
        )
        for mark in MARKS
        for one in measured
        if not mark.loads or one.shape.name in mark.loads
    ]


def _figure_rows(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    rows = [
        ("runs", *(one.shape.about for one in measured)),
        ("spans sent, bytes per span", *(_size(one.taken) for one in measured)),
        ("spans interpreted", *(f"{one.interpreted.spans:,}" for one in measured)),
    ]
    for figure, name, show in ROWS:
        rows.append((name, *(spread(one.values(figure), show) for one in measured)))
    return rows


def _size(load: Load) -> str:
    return f"{load.spans:,} x {load.bytes / load.spans:,.0f} B"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table as lines."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))} |"

    return [line(head), f"|{'|'.join('-' * (width + 2) for width in widths)}|", *map(line, rows)]
