"""`python -m bench.steady [--rate 1500] [--seconds 600]`: from acknowledgement to `runs` under a steady load.

Runs of 2 to 6 steps (medium spans, a trace id of its own for each) are sent at a rate. Beside them a short run is sent
whole every few seconds, and asked for until `runs` has it: how long that takes, by thirds of the time, tells whether
interpretation keeps up. Printed as well are what was behind at the end, the processor time and the memory of all
processes. Writes no page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.living import send_probes
from bench.load import SHAPES, make_load
from bench.memory import MemoryWatch
from bench.processes import Served, child, cpu_seconds_of_family, first_line, pipe_of
from bench.scale import settle
from bench.table import GB

_SPANS = 20_000  # of the load, which is sent again and again


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.steady", description=__doc__)
    parser.add_argument("--rate", type=int, default=1_500, metavar="N", help="spans a second (1500)")
    parser.add_argument("--seconds", type=int, default=600, metavar="N", help="for how long (600)")
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        shape = next(shape for shape in SHAPES if shape.name == "medium")
        load = make_load(shape, _SPANS, 7, place / "load.bin")
        with Served(place / "data", place / "errors.txt") as served:
            settle(served)
            _measure(served, load.path, arguments.rate, arguments.seconds, place / "stream.txt")
    return 0


def _measure(served: Served, load: Path, rate: int, seconds: int, errors: Path) -> None:
    over, waits = threading.Event(), list[float]()
    probe = threading.Thread(target=send_probes, args=(served, over, waits))
    began_cpu, began = cpu_seconds_of_family(served.process.pid), time.monotonic()
    stream = (served.ports["grpc"], str(load), str(rate), str(seconds))
    with child("bench.stream", *stream, errors=errors) as process, MemoryWatch(served.process.pid) as watch:
        first_line(process, errors)
        probe.start()
        pipe_of(process.stdin).write("go\n")
        pipe_of(process.stdin).flush()
        said = pipe_of(process.stdout).read()
    behind = served.health()
    took, cpu = time.monotonic() - began, cpu_seconds_of_family(served.process.pid) - began_cpu
    over.set()
    probe.join()
    print(said.strip())
    third = max(1, len(waits) // 3)
    for name, part in (("all", waits), ("the first third", waits[:third]), ("the last", waits[-third:])):
        print(
            f"a run that has ended, until `runs` has it, {name}: "
            f"median {median(part):.1f} s, most {max(part):.1f} s, of {len(part)}"
        )
    print(
        f"behind at the end: {behind['load_lag_records']} records, {behind['interpretation_lag_traces']} traces"
    )
    print(f"processor of all processes: {cpu / took:.2f} of a core")
    print(f"memory of all processes at its highest: {watch.most.all / GB:.2f} GB")


if __name__ == "__main__":
    sys.exit(main())
