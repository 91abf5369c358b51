"""`python -m bench.peers [--victoria-traces FILE] [--jaeger FILE] [--tempo FILE]`: others beside us; writes bench/PEERS.md.

Each program that is named runs beside Retrospan in turn, alone on the machine, on an empty directory, and gets the same
bytes of medium agent runs. Build them from their own repositories: `go build ./app/victoria-traces`, `./cmd/jaeger`,
`./cmd/tempo`. How each is started stands in bench/peer_programs.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.load import SHAPES, Load, make_load
from bench.machine import describe
from bench.peer_programs import programs
from bench.peer_trial import Figures, measure
from bench.table import spread, table

HERE = Path(__file__).resolve().parent
SPANS, KILLED_SPANS = 30_000, 10_000
ROWS = (
    ("start_empty", "from its start until it answers, empty, s", "{:,.2f}"),
    ("start_full", "the same with the spans of this table, s", "{:,.2f}"),
    ("acks", "acknowledged, spans/s", "{:,.0f}"),
    ("p99_ms", "request to acknowledgement, p99 ms", "{:,.0f}"),
    ("queryable", "each of 20 runs answered whole by its id, spans/s", "{:,.0f}"),
    ("searchable", "from the first send until each is found by an attribute, s", "{:,.1f}"),
    ("cpu_queryable", "processor until then, s per 1,000 spans", "{:,.2f}"),
    ("cpu_settled", "processor until it rests, s per 1,000 spans", "{:,.2f}"),
    ("idle", "memory before the first span, MB", "{:,.0f}"),
    ("peak", "memory at its highest, MB", "{:,.0f}"),
    ("disk", "disk after it was stopped, bytes per byte sent", "{:,.2f}"),
    ("trace_ms", "one run by its id, p50 ms", "{:,.1f}"),
    ("find_ms", "runs by an attribute that one has, p50 ms", "{:,.1f}"),
    ("found", "of these found, of 20", "{:,.0f}"),
    ("lost", "of 10,000 acknowledged spans lost by kill -9", "{:,.0f}"),
)
NOTES = """\
Each program has the machine for itself, the sender excepted: a process with four connections, a hundred spans a
request, made before the clock starts. **Queryable** runs from the first send until each of twenty runs, those
sent last among them, is answered whole by its trace id. **Rests**: five seconds in which all its processes
together take less than a tenth of a core. Retrospan has then read what the runs mean as well; the others keep
spans. **Lost**: the last acknowledgement, SIGKILL to all its processes, a new start, every trace asked for once
it rests; a span that is not answered is lost. Where fewer are found by the attribute than there are, the time
is that of an answer without them."""


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page if another program took part."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    for name in ("victoria-traces", "jaeger", "tempo"):
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help="its program")
    parser.add_argument("--spans", type=int, default=SPANS, metavar="N", help=f"({SPANS:,})")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N", help="how often to measure (3)")
    arguments = vars(parser.parse_args(words))
    spans, repetitions = arguments.pop("spans"), arguments.pop("repetitions")
    named: Mapping[str, Path | None] = {
        name: path and path.resolve(strict=True) for name, path in arguments.items()
    }
    compared = programs(named)
    figures = {program.name: list[Figures]() for program in compared}
    medium = next(shape for shape in SHAPES if shape.name == "medium")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        load, killed = (
            make_load(medium, count, 1, place / f"{count}.load") for count in (spans, KILLED_SPANS)
        )
        for number in range(1, repetitions + 1):
            for program in compared:
                print(f"{program.name}, {number} of {repetitions}", file=sys.stderr, flush=True)
                figures[program.name].append(measure(program, load, killed, place))
        page = render(describe(place), load, figures)
    print(page)
    if len(compared) > 1:
        (HERE / "PEERS.md").write_text(page, encoding="utf-8")
    return 0


def render(machine: Mapping[str, str], load: Load, figures: Mapping[str, Sequence[Figures]]) -> str:
    """Return the page: the median of the repetitions, and their range."""
    lines = ["# Beside others", "", "Written by `python -m bench.peers`.", ""]
    lines += [f"- {name}: {fact}" for name, fact in machine.items()]
    lines += [f"- Load: {load.spans:,} medium spans, {load.bytes / 1e6:,.1f} MB, {load.runs:,} runs", ""]
    rows = [
        (name, *(spread([one[key] for one in each], shown.format) for each in figures.values()))
        for key, name, shown in ROWS
    ]
    lines += table(("", *figures), rows)
    return "\n".join([*lines, "", NOTES, ""])


if __name__ == "__main__":
    sys.exit(main())
