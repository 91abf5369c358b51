"""Two tenants in one directory; and the directory as one of them sees it.

    python tenant_scene.py fill DIRECTORY            stores the runs of `acme` and `globex`, prints their run ids
    python tenant_scene.py ask DIRECTORY TENANT      asks every view but two, prints a JSON object; '' for everybody's rows
    python tenant_scene.py compare DIRECTORY TENANT  asks those two: with a policy on each table they take minutes to plan

The engine in a process makes no users, but it reads them from a file when it opens: the policy that the collector
gives a tenant's user on a server is given to the only user there is.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from fix_recordings import Recording, load_recording
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.log.record import encode
from retrospan.ingest.settings.config import InterpreterSettings
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.ingest.warehouse.new_warehouse import lay_out
from retrospan.ingest.warehouse.tenants import TABLES, condition
from retrospan.queries import catalogue
from retrospan.schemas.migrate import Migrations

#: What the port of a collector computes itself: as SQL of their own they are planned for long.
COMPARING = frozenset({"run_diff", "run_divergence"})
OWNERS = {"acme": "langgraph-openinference/multiturn", "globex": "pydantic-ai/normal"}


def fill(directory: Path, owners: Mapping[str, Recording]) -> None:
    lay_out(directory)
    warehouse = EmbeddedWarehouse(directory)
    store = warehouse.connect()
    Migrations(store).apply()
    catalogue.install(store)
    sequence = 0
    data = bytearray()
    for tenant, recording in owners.items():
        for request in recording.traces:
            sequence += 1
            parts, _ = encode(
                arrived_at=time.time_ns(), sequence=sequence, tenant=tenant, traces=request, logs=None
            )
            data += b"".join(parts)
        sequence += 1
        parts, _ = encode(
            arrived_at=time.time_ns(),
            sequence=sequence,
            tenant=tenant,
            traces=_observed(tenant, recording),
            logs=None,
        )
        data += b"".join(parts)
    insert_records(store, bytes(data), "scene")
    interpreter = Interpreter(warehouse, InterpreterSettings(quiet_seconds=0.0), own_process=False)
    interpreter.start()
    interpreter.notice(1, sequence)
    assert interpreter.wait_idle(60)
    interpreter.stop()
    rows = store.rows("SELECT tenant, groupArray(run_id) FROM runs GROUP BY tenant")
    print(json.dumps({str(tenant): runs for tenant, runs in rows}))
    store.close()
    warehouse.close()


def _observed(tenant: str, recording: Recording) -> bytes:
    """A span in each trace that makes a statement about the entity whose type and id are the trace's."""
    request = ExportTraceServiceRequest()
    for trace in sorted({span.trace_id for body in recording.traces for span in _spans(body)}):
        span = (
            request.resource_spans.add()
            .scope_spans.add()
            .spans.add(
                trace_id=trace,
                span_id=b"observed",
                name="observe",
                start_time_unix_nano=1,
                end_time_unix_nano=2,
            )
        )
        event = span.events.add(name="retrospan.observation", time_unix_nano=1)
        run = trace.hex()
        for key, value in (
            ("entity.type", run),
            ("entity.id", run),
            ("changes", '{"owner":"' + tenant + '"}'),
        ):
            event.attributes.add(key=f"retrospan.{key}").value.string_value = value
    return request.SerializeToString()


def _spans(body: bytes) -> Iterator[Span]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans


def ask(directory: Path, tenant: str, *, comparing: bool = False) -> None:
    import chdb

    connect: Any = chdb.connect  # its type depends on the version
    connection = connect(f"{directory}?config-file={config_of(directory, tenant)}")
    store = EmbeddedStore(connection, lambda _: None)
    store.command("USE retrospan")
    runs = json.loads(sys.stdin.read())
    (foreign,) = {"acme", "globex"} - {tenant or "acme"}
    own, others = runs[tenant or "acme"][0], runs[foreign]
    found: dict[str, Any] = {"tenants": {}, "foreign": {}, "unknown": {}, "own": {}}
    asked = {"foreign": others[0], "unknown": "nope"}
    if tenant:
        asked["own"] = own
    for view in catalogue.views():
        if (view.name in COMPARING) != comparing:
            continue
        if not view.parameters:
            found["tenants"][view.name] = [
                row[0] for row in store.rows(f"SELECT DISTINCT tenant FROM {view.name} ORDER BY tenant")
            ]
            continue
        for key, run in asked.items():
            given = {p.name: value(p.name, p.type, run, own) for p in view.parameters}
            call = ", ".join(
                f"{name} = {{{name}:{p}}}" for name, p in ((p.name, p.type) for p in view.parameters)
            )
            rows = store.rows(f"SELECT * FROM {view.name}({call}) ORDER BY ALL", given)
            found[key][view.name] = json.loads(json.dumps(rows).replace(run, "RUN"))
    for table in TABLES:
        found["tenants"][table] = [
            row[0] for row in store.rows(f"SELECT DISTINCT tenant FROM {table} ORDER BY tenant")
        ]
    print(json.dumps(found))
    store.close()


def value(name: str, kind: str, run: str, own: str) -> str | int:
    """A value of a view's parameter that leads to the run."""
    if kind != "String":
        return 1
    special = {"ref": f"run:{run}", "direction": "up", "a": own, "at": "", "known_at": ""}
    return special.get(name, run)


def config_of(directory: Path, tenant: str) -> Path:
    """The engine's configuration with the policy of a tenant on every table."""
    filters = "".join(
        f"<{table}><filter>{escape(condition(tenant))}</filter></{table}>" for table in TABLES if tenant
    )
    users = directory.parent / f"users-{tenant or 'all'}.xml"
    users.write_text(
        "<clickhouse><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>"
        "<networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>"
        f"<databases><retrospan>{filters}</retrospan></databases></default></users></clickhouse>"
    )
    config = directory.parent / f"config-{tenant or 'all'}.xml"
    config.write_text(f"<clickhouse><users_config>{users}</users_config></clickhouse>")
    return config


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill(Path(sys.argv[2]), {tenant: load_recording(name) for tenant, name in OWNERS.items()})
    else:
        ask(Path(sys.argv[2]), sys.argv[3], comparing=sys.argv[1] == "compare")
