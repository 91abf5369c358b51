"""`python -m bench.core [--against CHECKOUT]`: spans a second of the pure core.

Over all recordings, over made runs of medium spans, and over one run of 300 chats that repeats its whole history in each.
Timed is one thread's processor time from the decoded spans to the rows of their runs, by the function that the
interpreting process calls and as it calls it for traces that are new: each span is read once, what is read together was
decoded before. The warehouse beside it is empty, and answers at once. Of several passes the best of each recording counts. Against another checkout, both read the
same bytes, among them the recordings of that checkout; each in a process of its own, pass by pass in turn, so that what
else the machine does concerns both. With --same-rows this checkout leaves out what a core without costs, findings, habits and
lineage of values had not to do: with it in neither, what the reading alone takes is compared. Writes no page.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import gzip
import importlib
import itertools
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench.agents import Agents, Style
from bench.load import SHAPES, style_of

HERE = Path(__file__).resolve().parent
ROOTS = ("ingest", "schemas", "queries", "exporter", "tests")
PASSES = 9
MEDIUM_RUNS, CHATS = 100, 300
#: Runs of medium spans that are read together, as those of a third of a second in a collector that has 1,000 spans a second.
TOGETHER = 25
#: What makes the rows that came with costs, findings, habits and lineage of values, by module, each with what it then returns.
LATER: dict[str, dict[str, object]] = {
    "rows.rows": {
        "_add_costs": None,
        "finding_rows": [],
        "loop_rows": [],
        "habit_rows": [],
        "crossings_of": [],
    },
    "lineage.lineage": {"borrowed_edges": []},
}
#: Requests as they were received: of traces, and of logs.
Export = tuple[list[bytes], list[bytes]]


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.core", description=__doc__)
    parser.add_argument(
        "--against", type=Path, metavar="CHECKOUT", help="another checkout of this repository"
    )
    parser.add_argument("--passes", type=int, default=PASSES, help=f"{PASSES} by default")
    parser.add_argument(
        "--same-rows", action="store_true", help="without costs, findings, habits and lineage of values"
    )
    parser.add_argument("--part", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.part:
        _answer()
        return 0
    other: Path | None = arguments.against and arguments.against.resolve()
    checkouts = [HERE.parent, other] if other else [HERE.parent]
    loads = {"recordings": recorded(checkouts[-1]), "medium spans": medium(), "300 chats": growing()}
    print(f"{'':14} {'spans':>7} {'spans/s':>9}" + (f" {'the other':>11} {'ratio':>6}" if other else ""))
    for name, exports in loads.items():
        spans, seconds = compare(checkouts, exports, arguments.passes, same_rows=arguments.same_rows)
        print(line(name, spans, seconds))
    return 0


def line(name: str, spans: int, seconds: Sequence[float]) -> str:
    """Return what is printed of a load: spans a second, and those of the other checkout with the ratio to them."""
    own, *others = (spans / took for took in seconds)
    compared = (f" {rate:>11,.0f} {own / rate:>6.2f}" for rate in others)
    return f"{name:14} {spans:>7,} {own:>9,.0f}" + "".join(compared)


def recorded(checkout: Path) -> list[Export]:
    """Return the requests of every recording that the checkout's main manifest lists, by name."""
    folder = checkout / "tests" / "recordings"
    listed = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))["recordings"]
    listed.sort(key=lambda entry: (entry["framework"], entry["scenario"]))
    return [
        (_requests(folder, entry["files"].get("traces")), _requests(folder, entry["files"].get("logs")))
        for entry in listed
    ]


def medium() -> list[Export]:
    """Return made runs of spans as large as those of the benchmark's medium load, one request each, some of them together."""
    shape = next(shape for shape in SHAPES if shape.name == "medium")
    agents = Agents(5, style_of(shape))
    runs = [_export(agents.run()) for _ in range(MEDIUM_RUNS)]
    return [
        ([request for traces, _ in runs[at : at + TOGETHER] for request in traces], [])
        for at in range(0, MEDIUM_RUNS, TOGETHER)
    ]


def growing() -> list[Export]:
    """Return one run of many chats, each of which repeats all that was said before."""
    return [_export(Agents(5, Style((CHATS, CHATS), 600)).run())]


def _export(spans: Sequence[Span]) -> Export:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.extend(spans)
    return ([request.SerializeToString()], [])


def _requests(folder: Path, file: str | None) -> list[bytes]:
    """Return the requests of a file, each of which stands behind its length as a varint."""
    data = gzip.decompress((folder / file).read_bytes()) if file else b""
    found: list[bytes] = []
    at = 0
    while at < len(data):
        size = shift = 0
        while data[at] & 128:
            size |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
        size |= data[at] << shift
        found.append(data[at + 1 : at + 1 + size])
        at += 1 + size
    return found


def compare(
    checkouts: Sequence[Path], exports: Sequence[Export], passes: int = PASSES, *, same_rows: bool = False
) -> tuple[int, list[float]]:
    """Return the number of spans and, of each checkout, the seconds at best; the checkouts take turns."""
    with contextlib.ExitStack() as stack:
        parts = [stack.enter_context(_part(checkout, exports, same_rows)) for checkout in checkouts]
        counts = [_ask(part) for part in parts]
        if any(each != counts[0] for each in counts):
            raise SystemExit("the checkouts read different numbers of spans")
        took = [[_ask(part) for part in parts] for _ in range(passes)]
    best = [map(min, zip(*of_part, strict=True)) for of_part in zip(*took, strict=True)]
    return round(sum(counts[0])), [sum(each) for each in best]


@contextlib.contextmanager
def _part(checkout: Path, exports: Sequence[Export], same_rows: bool) -> Iterator[subprocess.Popen[bytes]]:
    """A process that reads the exports with the modules of a checkout, once for each line it is sent."""
    from retrospan.ingest.interpret.service.worker import CONTAINERS

    path = os.pathsep.join(str(checkout / root) for root in ROOTS)
    part = subprocess.Popen(
        [sys.executable, "-m", "bench.core", "--part"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=HERE.parent,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        assert part.stdin is not None
        # Both look for cycles as often as this checkout's interpreting process does.
        pickle.dump((str(checkout), CONTAINERS, list(exports), same_rows), part.stdin)
        yield part
    finally:
        part.kill()
        part.communicate()


def _ask(part: subprocess.Popen[bytes]) -> list[float]:
    assert part.stdin is not None and part.stdout is not None
    part.stdin.write(b"\n")
    part.stdin.flush()
    answer = part.stdout.readline()
    if not answer:
        raise SystemExit("a process that measures has ended: see what it printed")
    return [float(number) for number in json.loads(answer)]


class _NothingStored:
    """A warehouse without runs: what conversations ask of the ones before is answered by nothing, at once."""

    def rows(self, *_: object) -> list[list[object]]:
        return []


def _answer() -> None:
    """Print the spans of each export for the first line of standard input, and the seconds of a pass for each further one."""
    checkout, containers, exports, same_rows = pickle.load(sys.stdin.buffer)
    tests = importlib.import_module("spans")
    service = importlib.import_module("retrospan.ingest.interpret.service.batch")
    if not str(service.__file__).startswith(checkout):
        raise SystemExit(f"{service.__file__} is not of {checkout}")
    if same_rows:
        _leave_out_later()
    gc.set_threshold(containers)
    sys.stdin.buffer.readline()
    print([len(tests.spans_of_requests(*export)) for export in exports], flush=True)
    while sys.stdin.buffer.readline():
        took: list[float] = []
        # As in a job: all is decoded, and then interpreted.
        for decoded in [_decoded(service, tests.spans_of_requests(*export)) for export in exports]:
            began = time.thread_time()
            found = _interpreted(service, decoded)
            took.append(time.thread_time() - began)
            if found.broken:
                raise SystemExit("a run could not be interpreted")
        print(took, flush=True)


def _leave_out_later() -> None:
    """Replace what makes rows that an older core does not have, where this one has it."""
    for module, functions in LATER.items():
        try:
            there = importlib.import_module(f"retrospan.ingest.interpret.{module}")
        except ModuleNotFoundError:
            continue
        for name, returned in functions.items():
            if hasattr(there, name):
                setattr(there, name, lambda *_, returned=returned: returned)


def _decoded(service: Any, spans: Sequence[Any]) -> Any:
    """Return spans as the decoder hands them on, by trace. Checkouts differ in what else they decode: nothing of it is here."""
    of_traces: dict[str, list[Any]] = {}
    for span in spans:
        of_traces.setdefault(span.trace_id, []).append(span)
    fields: dict[str, dict[str, Any]] = {
        field.name: {trace_id: [] for trace_id in of_traces}
        for field in dataclasses.fields(service.DecodedTraces)
    }
    return service.DecodedTraces(
        **{
            **fields,
            "spans": of_traces,
            "deep": {trace_id: {} for trace_id in of_traces},
            "rows": {trace_id: len(own) for trace_id, own in of_traces.items()},
        }
    )


def _interpreted(service: Any, decoded: Any) -> Any:
    """Return what came of decoded traces, by the function that the interpreting process calls."""
    generations = itertools.count(1)
    return service.interpret_traces(
        "default",
        dict.fromkeys(decoded.spans, (1,)),
        decoded,
        lambda: next(generations),
        service.Conversations(_NothingStored(), "default"),
    )


if __name__ == "__main__":
    sys.exit(main())
