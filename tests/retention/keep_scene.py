"""Retention in a process of its own, which kills itself with SIGKILL at a named point.

python keep_scene.py DATA fill NUMBER           so many runs of each class, archived
python keep_scene.py DATA apply NOW POINT TIMES     NOW is the clock, Unix ns; POINT is one of
                                                RETENTION_FAILPOINTS, or `never`
python keep_scene.py DATA state                 prints what is there, as JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from keeping import KINDS, Keeper, agent_run

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.retention.deletion import retention
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.ingest.warehouse.new_warehouse import lay_out
from retrospan.torture.failpoints import RETENTION_FAILPOINTS, arm

RECEIPTS = (
    "SELECT what, subject, run_class, rule, spans, log_records, arrivals, rows, bytes, content_hash, hash_after "
    "FROM retention_log ORDER BY what, subject"
)


def main(data: Path, command: str, *words: str) -> None:
    # Few at once, so that there is a middle to be killed in.
    retention.AT_ONCE = 10
    lay_out(data / "warehouse")
    warehouse = EmbeddedWarehouse(data / "warehouse")
    keeper = Keeper(warehouse, data, segment_bytes=20_000)
    if command == "fill":
        number = int(words[0])
        keeper.send([agent_run(f"only-{n}", "test", payload=900) for n in range(4 * number)])
        keeper.send([agent_run(f"{k}-{n}", k, payload=900) for n in range(number) for k in KINDS], together=9)
        keeper.send([agent_run("last", "golden", payload=25_000), agent_run("newest", "golden")])
        keeper.settle()
        keeper.archive()
    elif command == "apply":
        now, point, times = words
        keeper.now = int(now)
        if point != "never":
            arm(RETENTION_FAILPOINTS[point], int(times))
        keeper.settle()
        keeper.apply()
    else:
        keeper.settle()
        state = {
            "runs": keeper.runs(),
            "traces": keeper.traces(),
            "rows": {
                table: keeper.rows(
                    f"SELECT count() FROM {table}{' WHERE NOT deleted' if name == 'runs' else ''}"
                )
                for name, table in TABLES.items()
            },
            "raw": keeper.rows(
                "SELECT (SELECT count() FROM raw_spans FINAL), (SELECT count() FROM arrivals FINAL), "
                "(SELECT count() FROM raw_logs)"
            ),
            "receipts": keeper.rows(RECEIPTS),
            "wrong": [checked.wrong for checked in keeper.verify() if checked.wrong],
            "missing": keeper.loader.missing_rows(),
            "lost": keeper.log.recovery.lost_records,
            "archive": sorted(path.name for path in (data / "log" / "archive").glob("*.zst")),
        }
        print(json.dumps(state))
    keeper.close()
    warehouse.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *sys.argv[3:])
