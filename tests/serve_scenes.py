"""A warehouse that holds the scenes, behind the real SQL port; prints its port, ends when its input ends.

A process of its own, because chDB opens one directory per process.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from finding_scenes import runs_with_findings
from fortnight import fortnight
from pair_scenes import pairs_of_versions
from populations import Kind, made, write
from scenes import scenes
from story import tell

from retrospan.ingest.answer.admin import Admin, Report
from retrospan.ingest.answer.sql_port import SqlPort
from retrospan.ingest.http.site import Site
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.ingest.warehouse.new_warehouse import lay_out
from retrospan.schemas.errors import LogFailed


def main() -> None:
    place = Path(sys.argv[1]) / "warehouse"
    lay_out(place)
    warehouse = EmbeddedWarehouse(place)
    store = warehouse.connect()
    if "--populations" in sys.argv:
        write(store, "default", "1.4.1", made("before", 120))
        write(store, "default", "1.4.2", made("after", 120, Kind(shares=(0.2, 0.2, 0.15, 0.4, 0.05))))
        write(store, "default", "1.4.3", made("few", 7))
    elif "--fortnight" in sys.argv:
        tell(store, *fortnight())
    elif "--findings" in sys.argv:
        tell(store, *runs_with_findings())
    elif "--pairs" in sys.argv:
        tell(store, *pairs_of_versions())
    elif "--empty" not in sys.argv:
        tell(store, *scenes())

    def rebuild(arguments: Mapping[str, object], report: Report) -> None:
        for done in range(0, 101, 20):
            report({"phase": "interpreting", "done": done, "total": 100, "unit": "runs"})
        report({"runs": 100, "asked": dict(arguments)})
        if "--empty" in sys.argv:
            raise LogFailed("the log is damaged: \x1b[31m")

    port = SqlPort(
        warehouse,
        Site(Address("127.0.0.1", 0)),
        limits=Limits(),
        admin=Admin({"rebuild": rebuild}),
        health=lambda: {"status": "ok"},
        metrics=lambda: "",
    )
    print(port.start(), flush=True)
    sys.stdin.read()
    port.stop(1.0)
    # Open until here: the engine stops with its last connection and takes 100 ms to start again.
    store.close()
    warehouse.close()


if __name__ == "__main__":
    main()
