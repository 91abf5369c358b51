"""`python -m bench.verify`: verifies a million spans in full, while nothing else is done.

Runs of 50 spans are loaded, and the log is archived. The figures go to bench/VERIFY.md. `--derived` interprets them as
well, and has derived rows verified: that takes several times as long, so it is meant for a share.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from bench.machine import describe
from bench.retention import SPANS, SPANS_OF_RUN, requests, resident
from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.settings.config import InterpreterSettings, LoaderSettings
from retrospan.ingest.verify.request import VerifyRequest
from retrospan.ingest.verify.verification import Verification
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.queries.catalogue import install

HERE = Path(__file__).resolve().parent
MOST_SECONDS = 300
MOST_BYTES = 1.5e9


def main() -> int:
    """Measure once; 1 when a mark is missed or something is called wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.verify", description=__doc__)
    parser.add_argument(
        "--share", type=float, default=1.0, metavar="S", help="part of a million spans; writes no file"
    )
    parser.add_argument("--derived", action="store_true", help="verify derived rows as well; writes no file")
    parser.add_argument(
        "--data", type=Path, default=HERE / "data", metavar="DIR", help="where to write meanwhile"
    )
    arguments = parser.parse_args()
    place: Path = arguments.data / "verify"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        page, met = _measure(place, int(SPANS * arguments.share) // SPANS_OF_RUN, arguments.derived)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(page)
    if arguments.share == 1.0 and not arguments.derived:
        (HERE / "VERIFY.md").write_text(page, encoding="utf-8")
    return 0 if met else 1


def _measure(place: Path, runs: int, derived: bool) -> tuple[str, bool]:
    machine = describe(place)
    warehouse = EmbeddedWarehouse(place / "warehouse", memory_bytes=6 << 30)
    ledger = Ledger.open(place / "log" / "batches.jsonl")
    log = WriteAheadLog.open(place / "log", low_water_bytes=0)
    interpreter = Interpreter(warehouse, InterpreterSettings())
    loader = Loader(log, warehouse.connect, ledger, LoaderSettings(), on_loaded=interpreter.notice)
    loader.start()
    store = warehouse.connect()
    install(store)
    if derived:
        interpreter.start()
    for request, spans in requests(runs):
        log.append(tenant="default", traces=request, items=spans)
    if not loader.wait_loaded(log.durable_sequence, 3600.0):
        raise TimeoutError("the runs were not loaded in time")
    if derived and not interpreter.wait_idle(7200.0):
        raise TimeoutError("the runs were not interpreted in time")
    while log.archive_next(loader.loaded_sequence):
        pass
    store.command("SYSTEM JEMALLOC PURGE")
    rest = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    told: list[Mapping[str, object]] = []
    with _Lag(loader) as lag:
        began = time.monotonic()
        Verification(warehouse, log, loader.chains, 0).run(
            VerifyRequest(full=True, derived=derived), told.append
        )
        took = time.monotonic() - began
    peak = resident("VmHWM")
    size = log.bytes_used
    interpreter.stop()
    loader.stop(60.0)
    log.close()
    store.close()
    warehouse.close()
    return _page(machine, runs, size, told, took, (rest, peak), lag.longest)


def _page(
    machine: Mapping[str, str],
    runs: int,
    size: int,
    told: list[Mapping[str, object]],
    took: float,
    memory: tuple[int, int],
    longest: float,
) -> tuple[str, bool]:
    rest, peak = memory
    wrong = sum(bool(line.get("wrong") or line.get("wrong_places")) for line in told)
    marks = [
        ("verifying them in full", f"under {MOST_SECONDS} s", f"{took:.1f} s", took < MOST_SECONDS),
        (
            "memory that this took, over what was taken before",
            f"under {MOST_BYTES / 1e9:.1f} GB",
            f"{(peak - rest) / 1e9:.2f} GB",
            peak - rest < MOST_BYTES,
        ),
        ("places called wrong, of which there are none", "0", str(wrong), not wrong),
    ]
    lines = ["# Verification", "", "Written by `python -m bench.verify`.", ""]
    lines += [f"- {name}: {value}" for name, value in machine.items()]
    lines += [
        f"- Size: {runs * SPANS_OF_RUN:,} spans, {size / 1e6:,.0f} MB of log; the marks are meant for {SPANS:,}"
    ]
    lines += ["", "| mark | wanted | measured | |", "|---|---|---|---|"]
    lines += [
        f"| {what} | {wanted} | {found} | {'met' if met else '**missed**'} |"
        for what, wanted, found, met in marks
    ]
    lines += ["", "| part | seconds | covered |", "|---|---|---|"]
    for line in told:
        if "covered" in line and isinstance(line["covered"], dict):
            covered = ", ".join(f"{number:,} {name}" for name, number in line["covered"].items() if number)
            lines.append(f"| {line['part']} | {line['seconds']} | {covered} |")
    lines += [
        "",
        f"Memory before, at most: {rest / 1e9:.2f} GB, {peak / 1e9:.2f} GB. A batch waited at most "
        + f"{longest * 1e3:.0f} ms for its turn meanwhile.",
        "",
    ]
    return "\n".join(lines), all(met for *_, met in marks)


class _Lag:
    """A thread that takes the loader's turn again and again; `longest` is how long that took at most, in seconds."""

    def __init__(self, loader: Loader) -> None:
        self.longest = 0.0
        self._chains = loader.chains
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(0.05):
            began = time.monotonic()
            with self._chains.locked():
                self.longest = max(self.longest, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
