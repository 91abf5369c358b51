"""`python -m bench.run`: measures every shape of load several times, prints the table, writes bench/RESULTS.md."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from bench.load import SHAPES, Shape
from bench.machine import describe
from bench.measure import Figures, make_loads, repeat
from bench.processes import BenchError
from bench.table import Measured, render

HERE = Path(__file__).resolve().parent
QUICK_SHARE = 0.1


def main() -> int:
    """Run the benchmark; 1 when a measurement did not come about."""
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the spans, once; writes no file")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N", help="how often to measure (3)")
    parser.add_argument(
        "--only",
        choices=[shape.name for shape in SHAPES],
        metavar="SHAPE",
        help="one shape of load; writes no file",
    )
    parser.add_argument(
        "--data", type=Path, default=HERE / "data", metavar="DIR", help="where to write meanwhile"
    )
    arguments = parser.parse_args()
    shapes = [shape for shape in SHAPES if arguments.only in (None, shape.name)]
    place: Path = arguments.data / "bench"
    share, repetitions = (QUICK_SHARE, 1) if arguments.quick else (1.0, arguments.repetitions)
    began = time.monotonic()
    try:
        _say(began, "making the loads")
        loads = {shape: make_loads(shape, share, place / "loads") for shape in shapes}
        figures: dict[Shape, list[Figures]] = {shape: [] for shape in shapes}
        # Round by round, so that a noisy minute does not fall on one shape alone.
        for number in range(1, repetitions + 1):
            for shape in shapes:
                _say(began, f"{shape.name}, {number} of {repetitions}")
                figures[shape].append(repeat(loads[shape], place / "work"))
        machine = describe(place)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(place, ignore_errors=True)
    measured = [
        Measured(shape, loads[shape].taken, loads[shape].interpreted, figures[shape]) for shape in shapes
    ]
    page = render(machine, measured, time.monotonic() - began)
    print(page)
    if not arguments.quick and arguments.only is None:
        (HERE / "RESULTS.md").write_text(page, encoding="utf-8")
    return 0


def _say(began: float, what: str) -> None:
    print(f"{time.monotonic() - began:5.0f} s  {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
