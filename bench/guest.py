"""`python -m bench.guest`: what recording costs the agent. Prints a table and writes bench/GUEST.md.

Each measurement is a process of its own, so that no provider, thread or cache of one is there for the next.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from bench.machine import describe

HERE = Path(__file__).resolve().parent
PARTS = ("import", "step", "loop", "memory")


def main() -> int:
    """Run the parts; 1 when a mark is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.guest", description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="one part; writes no file")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, once; writes no file")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N", help="how often to measure (3)")
    arguments = parser.parse_args()
    repetitions = 1 if arguments.quick else arguments.repetitions
    share = 0.1 if arguments.quick else 1.0
    lines: list[str] = []
    met = True
    for part in PARTS:
        if arguments.only in (None, part):
            print(f"{part} …", file=sys.stderr)
            rows, good = _TABLES[part](repetitions, share)
            lines += [*rows, ""]
            met = met and good
    page = "\n".join(lines)
    print(page)
    if arguments.only is None and not arguments.quick:
        (HERE / "GUEST.md").write_text(_HEAD + _machine() + "\n" + page, encoding="utf-8")
    return 0 if met else 1


_HEAD = """# What recording costs the agent

Written by `python -m bench.guest`. Median of the repetitions, with the lowest and the highest. Times of a step are
times of the processor on the thread that records. From the lateness of the event loop is taken off what the
process's threads waited for a processor; "at most" takes off only what the loop's own thread waited, and so counts the
machine's other work where it stops a thread that holds the interpreter's lock. What a hypervisor took is not taken off.

"""


def _machine() -> str:
    with tempfile.TemporaryDirectory() as directory:
        facts = describe(Path(directory))
    chosen = ("Date", "Version", "Processor", "Memory", "System", "Python")
    return "".join(f"- {name}: {facts[name]}\n" for name in chosen)


def measured(mode: str, repetitions: int, **facts: float) -> list[Mapping[str, float]]:
    """What a process of its own measures, so many times."""
    found: list[Mapping[str, float]] = []
    for _ in range(repetitions):
        done = subprocess.run(
            [sys.executable, "-m", "bench.guest_agent", mode, json.dumps(facts)],
            check=True,
            capture_output=True,
            text=True,
            cwd=HERE.parent,
        )
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def middle(found: list[Mapping[str, float]], name: str, unit: float = 1.0) -> str:
    """Median (lowest-highest)."""
    values = sorted(each[name] / unit for each in found)
    return f"{median(values):,.1f} ({values[0]:,.1f}-{values[-1]:,.1f})"


def import_table(repetitions: int, share: float) -> tuple[list[str], bool]:
    found = measured("import", repetitions)
    value = median(each["front"] for each in found)
    rows = [
        "| import, beyond the SDK's own, ms of processor time | median | mark |",
        "|---|---|---|",
        f"| `import retrospan.exporter` | {middle(found, 'front', 1e-3)} | under 60: {_mark(value < 0.060)} |",
        f"| and `instrument()`: threads, HTTP client, rules | {middle(found, 'all', 1e-3)} | |",
    ]
    return rows, value < 0.060


def step_table(repetitions: int, share: float) -> tuple[list[str], bool]:
    steps = int(6_000 * share)
    found = measured("step", repetitions, steps=steps, sends=0)
    told = measured("step", repetitions, steps=steps, sends=1)
    ratio = median(each["step"] / each["bare"] for each in found)
    ratio_told = median(each["step"] / each["bare"] for each in told)
    rows = [
        "| one step with a state of 5 KB before and after, µs | median | mark |",
        "|---|---|---|",
        f"| bare span, the agent writes its state with `json.dumps` | {middle(found, 'bare', 1e-6)} | |",
        f"| bare span, of texts that lie ready | {middle(found, 'ready', 1e-6)} | |",
        (
            f"| `step(state=…)` of retrospan.exporter | {middle(found, 'step', 1e-6)} "
            f"| at most 1.5 × bare: {ratio:.2f}, {_mark(ratio <= 1.5)} |"
        ),
        (
            f"| the same with `instrument()`: with the record that it has begun, both queued | {middle(told, 'step', 1e-6)} "
            f"| at most 1.5 × bare: {ratio_told:.2f}, {_mark(ratio_told <= 1.5)} |"
        ),
    ]
    return rows, max(ratio, ratio_told) <= 1.5


def loop_table(repetitions: int, share: float) -> tuple[list[str], bool]:
    seconds = 3 * share
    none, stock, own = (
        measured(f"loop-{kind}", repetitions, seconds=seconds) for kind in ("none", "stock", "own")
    )
    value = median(each["p999"] for each in own)
    rows = [
        "| 1,000 steps/s for 3 s beside an event loop: its lateness, ms | median | 99th | 99.9th | most | 99.9th at most | steps/s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in (
        ("no instrumentation", none),
        ("the SDK's batch processor and OTLP/HTTP exporter", stock),
        ("instrument()", own),
    ):
        cells = " | ".join(middle(found, each, 1e-3) for each in ("p50", "p99", "p999", "most", "strict"))
        rows.append(f"| {name} | {cells} | {middle(found, 'rate')} |")
    rows.append("")
    rows.append(f"The 99.9th percentile under 5 ms: {_mark(value < 0.005)}.")
    return rows, value < 0.005


def memory_table(repetitions: int, share: float) -> tuple[list[str], bool]:
    spans = int(180_000 * share)
    found = measured("memory", 1, spans=spans)
    facts = found[0]
    later = facts["second_half_mib"]
    rows = [
        f"| the collector away for {spans:,} spans with 5 KB (an hour at 50/s) | |",
        "|---|---|",
        f"| memory for waiting spans (setting) | {facts['limit_mib']:.0f} MiB |",
        f"| growth of the process at its highest | {facts['grown_mib']:.0f} MiB |",
        f"| of it in the second half | {later:.1f} MiB, mark: under 5, {_mark(later < 5)} |",
        f"| spans waiting / counted as lost | {facts['waiting']:,.0f} / {facts['lost']:,.0f} |",
    ]
    return rows, later < 5


def _mark(good: bool) -> str:
    return "met" if good else "**missed**"


_TABLES: dict[str, Callable[[int, float], tuple[list[str], bool]]] = {
    "import": import_table,
    "step": step_table,
    "loop": loop_table,
    "memory": memory_table,
}

if __name__ == "__main__":
    sys.exit(main())
