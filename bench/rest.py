"""`python -m bench.rest`: what a collector takes of the disk and of memory at rest, and how soon it starts; writes bench/REST.md.

A load is sent to a real `retrospan serve` and left alone until nothing changes any more: what the collector compresses,
merges and deletes by itself is done then. Starts are those of an empty directory, and of a million spans after kill -9.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.load import SHAPES, Load, Shape, make_load
from bench.machine import describe
from bench.measure import send
from bench.processes import BenchError, Served
from bench.scale import make, say
from bench.starts import Memory, Start, Started, memory_of_all

HERE = Path(__file__).resolve().parent
MILLION = 1_000_000
#: Nothing on the disk has changed for so long: longer than the collector waits before it merges.
_UNCHANGED_SECONDS = 200.0
_DEADLINE_SECONDS = 1_800.0
_LOOK_SECONDS = 2.0
#: Memory stays when it has not fallen for so long: longer than a collector waits before it gives anything back.
_STAYING_SECONDS = 90.0
_MB = 1e6
#: Spans sent, and what may be left of each byte.
LOADS = {"medium": (20_000, 0.25), "long": (8_000, 0.07)}
EMPTY, MILLION_SPANS = "an empty directory", "a million spans after kill -9"
#: Seconds until a request is acknowledged and a question answered.
STARTS = {EMPTY: (0.5, 1.5), MILLION_SPANS: (0.5, 3.0)}
IDLE_BYTES = 350 * _MB


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes by what they are kept for."""

    log: int
    archive: int
    raw: int
    canonical: int
    parts: int

    @property
    def kept(self) -> int:
        return self.log + self.archive + self.raw + self.canonical


@dataclass(slots=True)
class Rest:
    """One load, from its end on. Seconds count from the last acknowledgement."""

    load: Load
    interpreted: float = 0.0
    settled: float = 0.0
    first: Disk | None = None
    disk: Disk | None = None


@dataclass(slots=True)
class Found:
    """What was measured."""

    rests: dict[str, Rest] = field(default_factory=dict)
    starts: dict[str, list[Start]] = field(default_factory=dict)
    idle: dict[str, Memory] = field(default_factory=dict)


def main() -> int:
    """Measure, print the page and write it; 1 when a mark is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.rest", description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="how often each start is measured")
    parser.add_argument(
        "--million",
        type=Path,
        default=HERE / "data" / "scale" / str(MILLION),
        metavar="DIR",
        help="the directory of a million spans; made there, as by bench.scale, where it is missing",
    )
    parser.add_argument("--only", choices=("disk", "starts"), help="only a part; writes no file")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    found = Found()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        if arguments.only != "starts":
            for shape in SHAPES:
                if shape.name in LOADS:
                    _rest(shape, place / shape.name, found)
        if arguments.only != "disk":
            make(arguments.million, MILLION)
            _start(found, place, arguments.million, arguments.times)
        page, met = render(found, describe(place))
    print(page)
    if not arguments.dry and arguments.only is None:
        (HERE / "REST.md").write_text(page, encoding="utf-8")
    return 0 if met else 1


def _rest(shape: Shape, place: Path, found: Found) -> None:
    place.mkdir()
    say(f"{shape.name}: sending")
    load = make_load(shape, LOADS[shape.name][0], 2, place / "load.bin")
    rest = found.rests[shape.name] = Rest(load)
    with Served(place / "data", place / "errors.txt") as served:
        send("grpc", served.ports["grpc"], load, place)
        began = time.monotonic()
        while not _is_interpreted(served, load):
            if time.monotonic() - began > _DEADLINE_SECONDS:
                raise BenchError(f"not interpreted: {dict(served.health())}")
            time.sleep(_LOOK_SECONDS)
        rest.interpreted = time.monotonic() - began
        rest.first = rest.disk = disk_of(served, place / "data" / "log")
        say(f"{shape.name}: interpreted, waiting until nothing changes")
        rest.settled = rest.interpreted
        while time.monotonic() - began - rest.settled < _UNCHANGED_SECONDS:
            time.sleep(_LOOK_SECONDS)
            disk = disk_of(served, place / "data" / "log")
            if disk != rest.disk:
                rest.disk, rest.settled = disk, time.monotonic() - began
            if rest.settled > _DEADLINE_SECONDS:
                raise BenchError(f"it never rests: {disk}")
        say(f"{shape.name}: waiting until its memory stays")
        _until_quiet(served.process.pid)
        found.idle[f"{shape.name}: {load.bytes / _MB:.0f} MB sent"] = memory_of_all(served.process.pid)


def _is_interpreted(served: Served, load: Load) -> bool:
    health = served.health()
    if health.get("load_lag_records") or health.get("interpretation_lag_traces"):
        return False
    return served.number("SELECT count() FROM runs") == load.runs


def disk_of(served: Served, log: Path) -> Disk:
    """Return what is kept; of the tables their active parts, those that are replaced are gone after some minutes."""
    rows = served.rows(
        "SELECT startsWith(table, 'canon_'), sum(bytes_on_disk), count() FROM system.parts "
        "WHERE active AND database = 'retrospan' GROUP BY 1"
    )
    sizes = {bool(canonical): int(size) for canonical, size, _ in rows}
    return Disk(
        log=sum(path.stat().st_size for path in log.glob("*.seg")),
        archive=sum(path.stat().st_size for path in (log / "archive").glob("*.zst")),
        raw=sizes.get(False, 0),
        canonical=sizes.get(True, 0),
        parts=sum(int(parts) for *_, parts in rows),
    )


def _start(found: Found, place: Path, million: Path, times: int) -> None:
    errors = place / "starts.txt"
    # What this release has to change there is changed, and what it waits for is done.
    with Started(million, errors) as started:
        started.wait()
        _until_quiet(started.process.pid)
    for name in STARTS:
        for number in range(times):
            data = million if name == MILLION_SPANS else place / f"empty-{number}"
            with Started(data, errors) as started:
                found.starts.setdefault(name, []).append(started.wait())
                if number == times - 1:
                    say(f"{name}: waiting until its memory stays")
                    _until_quiet(started.process.pid)
                    found.idle[name] = memory_of_all(started.process.pid)


def _until_quiet(pid: int) -> None:
    """Return once the memory of a process and all below it has not fallen for so long; nothing is asked meanwhile."""
    least, since = 1 << 62, time.monotonic()
    began = time.monotonic()
    while time.monotonic() - since < _STAYING_SECONDS and time.monotonic() - began < 600.0:
        now = memory_of_all(pid).alone
        if now < least - 2 * _MB:
            least, since = now, time.monotonic()
        time.sleep(_LOOK_SECONDS)


def render(found: Found, machine: Mapping[str, str]) -> tuple[str, bool]:
    """Return the page, and whether every mark is met."""
    marks = _marks(found)
    lines = ["# At rest", "", "Written by `python -m bench.rest`.", ""]
    lines += [f"- {name}: {fact}" for name, fact in machine.items()]
    lines += ["", "| mark | wanted | measured | |", "|---|---|---|---|"]
    lines += [
        f"| {what} | {wanted} | {got} | {'met' if met else '**missed**'} |"
        for what, wanted, got, met in marks
    ]
    if found.rests:
        lines += ["", "| load | bytes sent | log | archive | raw | canonical | all, of a byte sent | parts |"]
        lines += ["|---|---|---|---|---|---|---|---|"]
        for name, rest in found.rests.items():
            for when, seconds, disk in (
                ("interpreted", rest.interpreted, rest.first),
                ("at rest", rest.settled, rest.disk),
            ):
                lines.append(f"| {name}, {when} after {seconds:.0f} s | {_row(rest.load, disk)} |")
    if found.starts:
        lines += [
            "",
            "| start of | acknowledged: least, median | answered: least, median | processor until then |",
        ]
        lines += ["|---|---|---|---|"]
        lines += [f"| {name} | {_times(starts)} |" for name, starts in found.starts.items()]
    if found.idle:
        lines += ["", "| idle memory | alone | proportional, by process |", "|---|---|---|"]
        for name, memory in found.idle.items():
            each = ", ".join(
                f"{module.rpartition('.')[2]} {size / _MB:.0f}"
                for module, size in memory.proportional.items()
            )
            lines.append(f"| {name} | {memory.alone / _MB:.0f} MB | {each} |")
    lines += [
        "",
        "Raw are all tables but the canonical ones, each by its active parts; parts that were merged into others are removed",
        f"by the engine after some minutes. At rest means that none of these figures has changed for {_UNCHANGED_SECONDS:.0f} s. Times count from",
        "the start of the process, and the least counts, for others use the machine as well; the processor time is that of all",
        "its processes. Proportional memory divides a page among the processes that have it (`Pss` of smaps), of which some may",
        "be other collectors; the mark is measured by what it would be without those.",
        "",
    ]
    return "\n".join(lines), all(met for *_, met in marks)


def _marks(found: Found) -> list[tuple[str, str, str, bool]]:
    marks: list[tuple[str, str, str, bool]] = []
    for name, rest in found.rests.items():
        most = LOADS[name][1]
        kept = rest.disk.kept / rest.load.bytes if rest.disk is not None else 1.0
        marks.append((f"kept of each byte sent, {name}", f"at most {most}", f"{kept:.3f}", kept <= most))
    for name, starts in found.starts.items():
        for what, most, least in (
            ("acknowledging", STARTS[name][0], min(start.acknowledged for start in starts)),
            ("answering", STARTS[name][1], min(start.answered for start in starts)),
        ):
            marks.append((f"{what}, {name}", f"within {most} s", f"{least:.2f} s", least <= most))
    for name, memory in found.idle.items():
        size = max(memory.alone, sum(memory.proportional.values()))
        marks.append((f"idle, {name}", "at most 350 MB", f"{size / _MB:.0f} MB", size <= IDLE_BYTES))
    return marks


def _row(load: Load, disk: Disk | None) -> str:
    assert disk is not None
    sizes = (disk.log, disk.archive, disk.raw, disk.canonical)
    figures = [f"{load.bytes / _MB:.1f} MB", *(f"{size / load.bytes:.4f}" for size in sizes)]
    return " | ".join([*figures, f"{disk.kept / load.bytes:.4f}", str(disk.parts)])


def _times(starts: Sequence[Start]) -> str:
    acknowledged = sorted(start.acknowledged for start in starts)
    answered = sorted(start.answered for start in starts)
    cpu = (min(start.acknowledged_cpu for start in starts), min(start.answered_cpu for start in starts))
    middle = len(starts) // 2
    return (
        f"{acknowledged[0]:.2f} s, {acknowledged[middle]:.2f} s | {answered[0]:.2f} s, {answered[middle]:.2f} s | "
        f"{cpu[0]:.2f} s, {cpu[1]:.2f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
