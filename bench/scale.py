"""`python -m bench.scale`: how answers grow with the warehouse; writes bench/SCALE.md.

A warehouse is made once in the directory given and used again: some 10,000 spans are sent to a real collector,
interpreted, and then cloned in SQL under other ids. Every question goes through the SQL port of `retrospan serve`; its
price is the processor time that all processes of the collector took for it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import sys
import time
from pathlib import Path

from bench.machine import describe
from bench.processes import Served
from bench.scale_base import requests
from bench.scale_clone import clone, close_days
from bench.scale_questions import QUESTIONS
from bench.scale_table import Sizes, ask_all, render
from retrospan.ingest.interpret.version import VERSION
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.migrate import Migrations

HERE = Path(__file__).resolve().parent
SPANS = (50_000, 1_000_000)
_BASE_SPANS = 10_000
_FACTS = "scale.json"
_SETTLING_SECONDS = 900.0


def main() -> int:
    """Make what is missing, ask, print the page and write it."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument(
        "--spans",
        type=int,
        action="append",
        metavar="N",
        help="a size; may be given again (50000 and 1000000)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=HERE / "data" / "scale",
        metavar="DIR",
        help="where warehouses are kept, one folder for each size",
    )
    parser.add_argument("--make", action="store_true", help="make the warehouses and ask nothing")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only questions whose name has the text; writes no file"
    )
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="how often each is asked (5)")
    arguments = parser.parse_args()
    sizes: Sizes = {}
    for spans in sorted(arguments.spans or SPANS):
        place: Path = arguments.data / f"{spans}"
        make(place, spans)
        if arguments.make:
            continue
        with Served(place, place / "errors.log") as served:
            settle(served)
            questions = [question for question in QUESTIONS if arguments.only in question.name]
            sizes[spans] = ask_all(served, questions, arguments.repetitions, say)
    if not arguments.make:
        page = render(describe(HERE), sizes)
        print(page)
        if not arguments.only and arguments.spans is None:
            (HERE / "SCALE.md").write_text(page, encoding="utf-8")
    return 0


def make(place: Path, spans: int) -> None:
    """Make a warehouse of so many spans there, if there is none."""
    facts = place / _FACTS
    if facts.exists():
        if json.loads(facts.read_text())["version"] != VERSION:
            _stamp(place, facts)
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    say(f"{spans:,} spans: sending and interpreting the base")
    with Served(place, place / "errors.log") as served:
        base = _send(served, min(spans, _BASE_SPANS))
        settle(served)
        served.process.terminate()
        served.process.wait(120)
    warehouse = EmbeddedWarehouse(place / "warehouse", memory_bytes=6 << 30)
    store = warehouse.connect()
    Migrations(store).apply()
    clone(store, max(0, round(spans / base) - 1), say)
    close_days(store, say)
    ((found, runs),) = store.rows("SELECT (SELECT count() FROM raw_spans), (SELECT count() FROM canon_runs)")
    warehouse.close()
    say(f"{found:,} spans, {runs:,} runs")
    facts.write_text(json.dumps({"spans": found, "runs": runs, "version": VERSION}))


def _stamp(place: Path, facts: Path) -> None:
    """Say that this version made the rows: a warehouse of another one would be read again, for an hour."""
    warehouse = EmbeddedWarehouse(place / "warehouse", memory_bytes=6 << 30)
    store = warehouse.connect()
    for table in ("canon_traces", "canon_runs"):
        store.command(
            f"ALTER TABLE {table} UPDATE interpreted_by = '{VERSION}' WHERE 1", settings={"mutations_sync": 1}
        )
    warehouse.close()
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "version": VERSION}))


def _send(served: Served, spans: int) -> int:
    connection = http.client.HTTPConnection(served.ports["http"], timeout=60)
    sent = 0
    for request in requests(spans, time.time_ns()):
        connection.request(
            "POST", f"/v1/{request.signal}", request.body, {"Content-Type": "application/x-protobuf"}
        )
        reply = connection.getresponse()
        said = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"HTTP {reply.status}: {said[:200]!r}")
        sent += request.spans
    connection.close()
    return sent


def settle(served: Served) -> None:
    """Wait until everything is loaded and interpreted, and a second longer."""
    deadline = time.monotonic() + _SETTLING_SECONDS
    while time.monotonic() < deadline:
        health = served.health()
        if health.get("load_lag_records") == 0 and health.get("interpretation_lag_traces") == 0:
            time.sleep(2.0)
            return
        time.sleep(0.2)
    raise TimeoutError(f"not settled after {_SETTLING_SECONDS:.0f} s: {served.health()}")


def say(what: str) -> None:
    """One line on standard error."""
    print(f"{time.strftime('%H:%M:%S')}  {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
