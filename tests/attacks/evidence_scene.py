"""The directory of a collector whose evidence is to be altered, and the surgery, each in a process of its own.

python evidence_scene.py DATA build        runs, some of them deleted again, in an archive of several segments and behind it
python evidence_scene.py DATA sql          runs the statements on standard input, a JSON list, in the stopped directory
python evidence_scene.py DATA parts        prints where the parts of the table on standard input lie
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from keeping import Keeper, agent_run, trace_of
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from retrospan.ingest.log.record import Reject
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.ingest.warehouse.new_warehouse import lay_out

KEPT = 16


def main(data: Path, command: str) -> None:
    lay_out(data / "warehouse")
    warehouse = EmbeddedWarehouse(data / "warehouse")
    if command == "sql":
        store = warehouse.connect()
        for statement in json.load(sys.stdin):
            store.command(statement, None, {"mutations_sync": 1})
        store.close()
    elif command == "parts":
        store = warehouse.connect()
        asked = {"table": sys.stdin.read()}
        parts = "SELECT path FROM system.parts WHERE active AND table = {table:String} ORDER BY rows DESC"
        for (path,) in store.rows(parts, asked):
            print(path)
        store.close()
    else:
        _build(Keeper(warehouse, data, segment_bytes=20_000))
    warehouse.close()


def _build(keeper: Keeper) -> None:
    for number in range(KEPT):
        # One record holds what is kept and what goes.
        pair = [
            agent_run(f"keep-{number}", "golden", payload=900),
            agent_run(f"gone-{number}", "test", payload=900),
        ]
        keeper.send(pair, together=2)
        if number % 4 == 3:
            keeper.settle()
    keeper.send([agent_run("barrier", "golden", payload=25_000), agent_run("behind", "golden")])
    keeper.log.append(tenant="default", logs=_log_record(), items=1)
    keeper.log.append(
        tenant="default", rejects=[Reject(signal="traces", spans=1, reason="no trace id", sample=b"x")]
    )
    keeper.settle()
    assert keeper.archive() > 2
    keeper.marks.flag({"run": trace_of("keep-0"), "reason": "look at this", "by": "tests"})
    keeper.after(2)
    assert len(keeper.apply()) == KEPT
    keeper.send([agent_run(f"late-{number}", "golden") for number in range(4)])
    keeper.settle()
    keeper.close()


def _log_record() -> bytes:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.body.string_value = "sent to alice@example.com"
    record.time_unix_nano = 1
    return request.SerializeToString()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
