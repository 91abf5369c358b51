"""Runs of every class, and the parts of a collector that keep and delete them, with a clock of the test's own."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from retrospan.ingest.interpret.service.interpreter import Interpreter
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.load.loader import Loader
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.retention.deletion.deleter import Deleter
from retrospan.ingest.retention.deletion.retention import Retention
from retrospan.ingest.retention.deletion.returning import Returning
from retrospan.ingest.retention.policy.policy import Policy, default_policy
from retrospan.ingest.retention.receipts.marks import Marks
from retrospan.ingest.settings.config import InterpreterSettings, LoaderSettings
from retrospan.ingest.verify.archived_segment import faults_in
from retrospan.ingest.verify.chains import Checked, verify
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.queries.catalogue import install
from retrospan.schemas import attributes

DAY = 86_400 * 10**9
MINUTE = 60 * 10**9
KINDS = ("ok", "error", "incomplete", "flagged", "test", "eval", "demo", "golden", "other")
DAYS: Mapping[str, int | None] = {
    "ok": 7,
    "error": 30,
    "incomplete": 30,
    "flagged": 90,
    "test": 1,
    "eval": 1,
    "demo": 1,
    "golden": None,
    "other": 7,
}
"""What the default policy keeps."""


def trace_of(name: str) -> str:
    """The trace id, and so the run id, of the run that is called so."""
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


def agent_run(name: str, kind: str, *, said: str = "", asked: str = "", payload: int = 0) -> bytes:
    """The export request of one run of a class: an agent span over a model call. `other` is not a run at all.

    `asked` and `said` are the texts of the call's messages; `payload` further bytes in the question.
    """
    trace, now = bytes.fromhex(trace_of(name)), time.time_ns()
    root = Span(
        trace_id=trace,
        span_id=b"\x01" * 8,
        name="invoke_agent orla" if kind != "other" else "GET /",
        start_time_unix_nano=now - 2 * 10**9,
        end_time_unix_nano=now,
    )
    if kind == "other":
        return _request([root])
    _set(root, "gen_ai.operation.name", "invoke_agent")
    _set(root, "gen_ai.agent.name", "orla")
    if kind in ("test", "eval", "demo", "golden"):
        _set(root, attributes.RUN_KIND, kind)
    if kind == "flagged":
        root.attributes.add(key=attributes.RUN_FLAGGED).value.bool_value = True
    if kind == "error":
        root.status.code = Status.STATUS_CODE_ERROR
    call = Span(
        trace_id=trace,
        span_id=b"\x02" * 8,
        parent_span_id=root.span_id,
        name="chat",
        start_time_unix_nano=now - 10**9,
        end_time_unix_nano=now - 5 * 10**8,
    )
    _set(call, "gen_ai.operation.name", "chat")
    _set(call, "gen_ai.request.model", "m-1")
    _set(call, "gen_ai.input.messages", _message("user", (asked or f"question {name}") + "x" * payload))
    _set(call, "gen_ai.output.messages", _message("assistant", said or f"answer {name}"))
    # An incomplete run lacks its root.
    return _request([call] if kind == "incomplete" else [root, call])


def linked_run(name: str, other: str, kind: str) -> bytes:
    """The export request of a run that went well, whose root has a link of that type to the trace of another."""
    request = ExportTraceServiceRequest.FromString(agent_run(name, "ok"))
    root = request.resource_spans[0].scope_spans[0].spans[0]
    link = root.links.add(trace_id=bytes.fromhex(trace_of(other)), span_id=b"\x01" * 8)
    link.attributes.add(key=attributes.LINK_TYPE).value.string_value = kind
    return request.SerializeToString()


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def _set(span: Span, key: str, value: str) -> None:
    span.attributes.add(key=key).value.string_value = value


def _request(spans: Sequence[Span]) -> bytes:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "tests"
    resource.scope_spans.add().spans.extend(spans)
    return request.SerializeToString()


class Keeper:
    """Log, loader, interpreter and retention over one directory. `now` is the clock, Unix ns; it stands still."""

    def __init__(
        self,
        warehouse: Warehouse,
        directory: Path,
        *,
        segment_bytes: int = 64 << 20,
        limit_bytes: int = 64 << 30,
        interprets: bool = True,
        prices: bytes = b"",
        log_number: int = 0,
        alone: bool = True,
        patience: float = 60.0,
    ) -> None:
        """`alone`: no other keeper has the same warehouse. Each has a `log_number` of its own."""
        self.warehouse = warehouse
        self.now = time.time_ns()
        ledger = Ledger.open(directory / "log" / "batches.jsonl")
        self.log = WriteAheadLog.open(
            directory / "log",
            segment_bytes=segment_bytes,
            limit_bytes=limit_bytes,
            low_water_bytes=0,
            loaded_sequence=ledger.loaded_sequence,
        )
        self.interpreter = Interpreter(
            warehouse, InterpreterSettings(quiet_seconds=0.0), own_process=False, prices=prices
        )
        self.loader = Loader(
            self.log,
            warehouse.connect,
            ledger,
            LoaderSettings(batch_spans=20_000, wait_seconds=0.0),
            log_number,
            on_loaded=self.interpreter.notice,
            returning=Returning(self.log, log_number, alone=alone),
        )
        self.loader.start()
        store = warehouse.connect()
        install(store)
        store.close()
        if interprets:
            self.interpreter.start()
        self.retention = Retention(
            warehouse,
            self.log,
            self.loader,
            self.loader.chains,
            Deleter(warehouse, self.interpreter),
            faults_in(self.log, self.loader.chains, log_number),
            log_number=log_number,
            alone=alone,
            clock=lambda: self.now,
        )
        self.marks = Marks(
            warehouse,
            self.log,
            self.loader,
            clock=lambda: self.now,
            log_number=log_number,
            alone=alone,
            patience=patience,
        )

    def send(self, requests: Sequence[bytes], *, together: int = 1) -> None:
        """Append requests to the log, `together` of them in one record."""
        for start in range(0, len(requests), together):
            # Messages of protobuf that lie one after the other are one message.
            body = b"".join(requests[start : start + together])
            self.log.append(tenant="default", traces=body, items=2 * together)

    def settle(self) -> None:
        """Wait until everything is loaded and read."""
        assert self.loader.wait_loaded(self.log.durable_sequence, 600.0), self.loader.failure
        assert self.interpreter.wait_idle(600.0), self.interpreter.failure

    def after(self, days: float) -> None:
        """Set the clock to so many days, and a minute, from the real time."""
        self.now = time.time_ns() + int(days * DAY) + MINUTE

    def plan(self, policy: Policy | None = None) -> list[str]:
        """The runs and traces that would go, sorted."""
        lines: list[Mapping[str, object]] = []
        self.retention.plan(policy or default_policy(), lines.append, listed=True)
        return named(lines)

    def apply(self, policy: Policy | None = None) -> list[str]:
        """Let them go; returns which went, sorted."""
        lines: list[Mapping[str, object]] = []
        self.retention.apply(policy or default_policy(), lines.append, by="tests", listed=True)
        return named(lines)

    def archive(self) -> int:
        """Compress every sealed segment that is loaded; returns how many there are."""
        while self.log.archive_next(self.loader.loaded_sequence):
            pass
        return len(self.log.archived(self.loader.loaded_sequence))

    def rows(self, statement: str, **parameters: str | int) -> list[list[object]]:
        store = self.warehouse.connect()
        try:
            return store.rows(statement, parameters)
        finally:
            store.close()

    def runs(self) -> list[str]:
        """Every run that a reader sees, sorted."""
        return sorted(cast(str, name) for (name,) in self.rows("SELECT run_id FROM runs"))

    def traces(self) -> list[str]:
        """Every trace of which a span is there, sorted."""
        return sorted(cast(str, name) for (name,) in self.rows("SELECT DISTINCT trace_id FROM raw_spans"))

    def verify(self) -> list[Checked]:
        store = self.warehouse.connect()
        try:
            return verify(store, self.loader.chains, 0)
        finally:
            store.close()

    def reload(self) -> None:
        """Load the whole log again and read every run again, as `rebuild` does."""
        self.loader.reload_all()
        self.retention.finish()
        self.interpreter.rebuild(lambda done, total: None)
        self.settle()

    def close(self) -> None:
        self.interpreter.stop()
        assert self.loader.stop(30.0)
        self.log.close()


def named(lines: Sequence[Mapping[str, object]]) -> list[str]:
    """The runs of the lines that a plan or an apply told."""
    units = [cast("dict[str, object]", line["due"]) for line in lines if "due" in line]
    return sorted(run for unit in units for run in cast("list[str]", unit["runs"]))
