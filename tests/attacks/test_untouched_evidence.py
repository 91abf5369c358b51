"""What happens to stored evidence by itself is not an alteration: `verify --full` calls nothing of it wrong."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from fix_collector import Served
from fix_recordings import HELD_BACK, taken
from keeping import Keeper, agent_run
from odd_requests import unreadable, wrong_wire_type
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from verified import ask

from retrospan.ingest.log.record import Reject
from retrospan.ingest.retention.policy.policy import read_policy
from retrospan.ingest.verify.request import VerifyRequest
from retrospan.ingest.verify.verification import Verification
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

PAYLOADS = read_policy('[payloads]\nok = "2d"\nother = "2d"\nerror = "2d"\n', "payloads.toml")


def verified(keeper: Keeper, **asked: Any) -> dict[str, Mapping[str, int]]:
    """What was covered, by part, after it was verified that nothing is called wrong and nothing left out."""
    told: list[Mapping[str, object]] = []
    words = asked or {"full": True, "derived": True}
    Verification(keeper.warehouse, keeper.log, keeper.loader.chains, 0).run(
        VerifyRequest(**words), told.append
    )
    assert not [line for line in told if line.get("wrong")], told
    covered = [line for line in told if "covered" in line]
    if words.get("full"):
        assert not [line["not_covered"] for line in covered if line["not_covered"]], covered
    return {str(line["part"]): cast("Mapping[str, int]", line["covered"]) for line in covered}


@pytest.fixture
def keeper(warehouse: EmbeddedWarehouse, tmp_path: Path) -> Any:
    made = Keeper(warehouse, tmp_path, segment_bytes=20_000)
    yield made
    made.close()


def log_record(text: str) -> bytes:
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.add().body.string_value = text
    return request.SerializeToString()


@pytest.mark.soak
def test_a_fresh_log_and_an_empty_one(keeper: Keeper) -> None:
    verified(keeper)
    keeper.send([agent_run(f"run-{number}", "ok") for number in range(20)])
    keeper.log.append(tenant="default", logs=log_record("said"), items=1)
    keeper.log.append(tenant="other", rejects=[Reject(signal="logs", spans=2, reason="too long")])
    keeper.settle()
    covered = verified(keeper)
    assert covered["raw rows"]["raw_spans"] == 40 and covered["derived rows"]["runs"] == 20
    verified(keeper, run=keeper.runs()[0], derived=True)
    verified(keeper, derived=True)


@pytest.mark.long
def test_runs_that_come_while_it_is_at_work_are_not_called_wrong(keeper: Keeper) -> None:
    keeper.send([agent_run(f"run-{number}", "ok") for number in range(3)])
    keeper.settle()
    told: list[Mapping[str, object]] = []

    def while_it_reads(line: Mapping[str, object]) -> None:
        if line.get("phase") == "interpreting again" and len(keeper.runs()) == 3:
            keeper.send([agent_run("late", "ok")])
            keeper.settle()
        told.append(line)

    verification = Verification(keeper.warehouse, keeper.log, keeper.loader.chains, 0)
    verification.run(VerifyRequest(full=True, derived=True), while_it_reads)
    assert len(keeper.runs()) == 4
    assert not [line for line in told if line.get("wrong")], told
    (derived,) = [line for line in told if line.get("part") == "derived rows" and "covered" in line]
    assert any("while it was at work" in str(why) for why in cast("list[str]", derived["not_covered"]))


@pytest.mark.long
def test_runs_whose_requests_have_a_trace_each_are_read_with_all_that_belongs_to_them(keeper: Keeper) -> None:
    told = [recording for name, recording in taken(HELD_BACK).items() if "google-genai-traceloop" in name]
    requests = [request for recording in told for request in recording.traces]
    # Among others their traces are of several pages.
    keeper.send([*requests, *(agent_run(f"run-{number}", "ok") for number in range(150))])
    keeper.settle()
    [[joined]] = keeper.rows("SELECT countIf(notEmpty(aliases)) FROM runs")
    assert joined
    [[traces]] = keeper.rows("SELECT uniqExact(trace_id) FROM spans")
    assert verified(keeper)["derived rows"]["traces"] == traces


@pytest.mark.soak
def test_spans_that_were_sent_again_and_merged(keeper: Keeper) -> None:
    requests = [agent_run(f"run-{number}", "ok") for number in range(10)]
    for _ in range(3):
        keeper.send(requests)
        keeper.settle()
    verified(keeper)
    store = keeper.warehouse.connect()
    for table in ("raw_spans", "arrivals"):
        store.command(f"OPTIMIZE TABLE {table} FINAL")
    store.close()
    assert keeper.rows("SELECT count() FROM raw_spans") == [[20]]
    assert verified(keeper)["raw rows"]["merged_with_newer"] == 40


@pytest.mark.soak
def test_runs_that_were_deleted_and_segments_that_were_rewritten(keeper: Keeper) -> None:
    for number in range(24):
        pair = [
            agent_run(f"keep-{number}", "golden", payload=900),
            agent_run(f"gone-{number}", "test", payload=900),
        ]
        keeper.send(pair, together=2)
    keeper.settle()
    assert keeper.archive() > 1
    keeper.after(2)
    assert len(keeper.apply()) == 24
    verified(keeper)
    keeper.reload()
    verified(keeper)
    # Again, on what was loaded under the second epoch.
    keeper.send([agent_run(f"more-{number}", "test", payload=900) for number in range(20)])
    keeper.settle()
    keeper.archive()
    keeper.after(2)
    assert len(keeper.apply()) == 20
    covered = verified(keeper)
    assert covered["log"]["batches_by_receipt"] > 1
    keeper.reload()
    verified(keeper)


@pytest.mark.long
def test_payloads_that_went(keeper: Keeper) -> None:
    keeper.send([agent_run(f"ok-{number}", "ok", payload=900) for number in range(30)])
    keeper.settle()
    keeper.after(3)
    assert len(keeper.apply(PAYLOADS)) == 30
    # The rows are bare, and the log still holds what was said; then the archive does not either.
    verified(keeper)
    keeper.send([agent_run("late", "golden", payload=25_000), agent_run("later", "golden")])
    keeper.settle()
    keeper.archive()
    keeper.apply(PAYLOADS)
    verified(keeper)
    keeper.reload()
    verified(keeper)


@pytest.mark.soak
def test_a_record_in_quarantine(keeper: Keeper) -> None:
    keeper.send([agent_run("before", "ok")])
    keeper.log.append(tenant="default", traces=unreadable(), items=1)
    keeper.log.append(tenant="default", traces=wrong_wire_type(99), items=1)
    keeper.send([agent_run("after", "ok")])
    keeper.settle()
    assert keeper.loader.quarantined == 1
    verified(keeper)
    keeper.reload()
    verified(keeper)


@pytest.mark.soak
def test_a_collector_that_was_killed_while_it_loaded(tmp_path: Path) -> None:
    served = Served(tmp_path / "data", tmp_path / "stderr.txt")
    try:
        for round_ in range(4):
            served.send([agent_run(f"run-{round_}-{number}", "ok") for number in range(40)])
            served.process.send_signal(signal.SIGKILL)
            served.kill()
            served.start()
        served.wait_idle()
        found = ask(served)
        assert not found.wrong, found.wrong
        served.run("rebuild")
        served.wait_idle()
        found = ask(served)
        assert not found.wrong, found.wrong
        assert found.health["status"] == "ok", found.health["reasons"]
    finally:
        served.kill()
