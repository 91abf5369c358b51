"""Payloads that go before their runs: what was said is nowhere any more, what was done still is."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from keeping import Keeper, agent_run, trace_of
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from retrospan.ingest.interpret.rows.lists import TABLES
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.ingest.retention.deletion.deleter import Deleter
from retrospan.ingest.retention.deletion.strip import MARK, strip_span
from retrospan.ingest.retention.policy.policy import read_policy
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import ConfigError, WarehouseUnavailable

POLICY = read_policy(
    """
[payloads]
ok = "2d"
other = "2d"
error = "10d"
flagged = "20d"
""",
    "payloads.toml",
)
KINDS = ("ok", "error", "flagged", "golden", "other")
_RAW = "SELECT * EXCEPT sequence FROM raw_spans FINAL ORDER BY trace_id, span_id, content_hash"
_SHAPE = """
SELECT m.run_id, m.request_model, s.name, s.started_at
FROM model_calls AS m
INNER JOIN spans AS s ON s.trace_id = m.trace_id AND s.span_id = m.span_id
ORDER BY m.run_id
"""


def said_log(name: str) -> bytes:
    """A log record in the trace of a run, with what was said in its body."""
    request = ExportLogsServiceRequest()
    record = (
        request.resource_logs.add()
        .scope_logs.add()
        .log_records.add(
            trace_id=bytes.fromhex(trace_of(name)), span_id=b"\x02" * 8, severity_number=9, event_name="noted"
        )
    )
    record.body.string_value = f"question {name}"
    record.attributes.add(key="gen_ai.operation.name").value.string_value = "chat"
    return request.SerializeToString()


def where(keeper: Keeper, text: str) -> list[str]:
    """The tables in which a text is found, whatever the column."""
    tables = ("raw_spans", "raw_logs", *TABLES.values())
    return [
        table
        for table in tables
        if keeper.rows(
            f"SELECT count() FROM {table} WHERE position(toString(tuple(*)), {{text:String}}) > 0", text=text
        )
        != [[0]]
    ]


def send_all(keeper: Keeper, numbers: int = 2, payload: int = 0) -> list[str]:
    names = [f"{kind}-{number}" for kind in KINDS for number in range(numbers)]
    keeper.send([agent_run(name, name.split("-")[0], payload=payload) for name in names])
    for name in names:
        keeper.log.append(tenant="default", logs=said_log(name), items=1)
    keeper.settle()
    return names


@pytest.mark.soak
def test_payloads_go_at_their_age_and_the_runs_stay(keeper: Keeper) -> None:
    send_all(keeper)
    runs, shape, spans = keeper.runs(), keeper.rows(_SHAPE), keeper.rows("SELECT count() FROM spans")
    keeper.marks.hold({"run": trace_of("ok-1"), "until": 0})
    keeper.after(1.5)
    assert keeper.plan(POLICY) == keeper.apply(POLICY) == []
    keeper.after(3)
    due = sorted(trace_of(name) for name in ("ok-0", "other-0", "other-1"))
    assert keeper.plan(POLICY) == due
    assert keeper.runs() == runs, "a plan changes nothing"
    assert keeper.apply(POLICY) == due
    keeper.settle()
    assert (keeper.runs(), keeper.rows(_SHAPE), keeper.rows("SELECT count() FROM spans")) == (
        runs,
        shape,
        spans,
    )
    assert keeper.rows("SELECT sum(spans) FROM span_arrivals") == spans
    assert where(keeper, "question ok-0") == where(keeper, "answer ok-0") == []
    assert "raw_spans" in where(keeper, "question ok-1"), "what is held keeps what it says"
    assert {"raw_spans", "raw_logs", "canon_values"} <= set(where(keeper, "question error-0"))
    assert keeper.rows(
        "SELECT DISTINCT attributes['retrospan.redacted'] FROM spans WHERE trace_id = {trace:String}",
        trace=trace_of("ok-0"),
    ) == [[MARK]]
    assert keeper.rows("SELECT what, run_class, rule, spans FROM retention_log ORDER BY number")[0] == [
        "payloads",
        "ok",
        "payloads of ok: 2d",
        2,
    ]
    assert keeper.plan(POLICY) == keeper.apply(POLICY) == [], "once"
    keeper.reload()  # the log still has the bytes: nothing was archived
    assert where(keeper, "question ok-0") == [] and keeper.runs() == runs
    keeper.marks.hold({"run": trace_of("ok-1"), "lift": True})
    keeper.after(8)
    gone = sorted(trace_of(name) for name in ("ok-0", "ok-1", "other-0", "other-1"))
    assert keeper.plan(POLICY) == keeper.apply(POLICY) == gone, (
        "the runs go at their own age, and no payload twice"
    )
    keeper.after(12)
    assert keeper.apply(POLICY) == sorted(trace_of(name) for name in ("error-0", "error-1"))
    keeper.settle()
    assert keeper.rows(
        "SELECT DISTINCT outcome FROM runs WHERE run_id = {run:String}", run=trace_of("error-0")
    ) == [["error"]]
    assert all(not checked.wrong for checked in keeper.verify())


@pytest.mark.long
def test_what_a_held_run_rests_on_keeps_its_payload(keeper: Keeper) -> None:
    keeper.send([agent_run(name, "ok") for name in ("held", "source", "alone")])
    keeper.settle()
    store = keeper.warehouse.connect()
    store.command(
        "INSERT INTO canon_edges (tenant, run_id, generation, subject, relation, object, evidence) "
        "SELECT 'default', run_id, generation, 'output:1', 'wasDerivedFrom', {thing:String}, 'stated' "
        "FROM canon_runs FINAL WHERE run_id = {run:String}",
        {"run": trace_of("held"), "thing": f"run:{trace_of('source')}"},
    )
    store.close()
    keeper.marks.hold({"run": trace_of("held"), "until": 0})
    keeper.after(3)
    assert keeper.plan(POLICY) == keeper.apply(POLICY) == [trace_of("alone")]
    keeper.settle()
    assert where(keeper, "question source") and where(keeper, "question held")
    assert where(keeper, "question alone") == []
    keeper.marks.hold({"run": trace_of("held"), "lift": True})
    assert keeper.apply(POLICY) == sorted(trace_of(name) for name in ("held", "source"))


@pytest.mark.soak
def test_late_spans_of_a_bare_run_lose_their_payload_at_their_own_age(keeper: Keeper) -> None:
    keeper.send([agent_run("ok-0", "ok")])
    keeper.settle()
    keeper.after(3)
    assert keeper.apply(POLICY) == [trace_of("ok-0")]
    keeper.settle()
    keeper.send([agent_run("ok-0", "ok", asked="late question")])
    keeper.settle()
    assert "raw_spans" in where(keeper, "late question")
    keeper.after(3)
    assert keeper.apply(POLICY) == [trace_of("ok-0")], "what came later is due by its own arrival"
    keeper.settle()
    assert where(keeper, "late question") == []


@pytest.mark.long
def test_a_death_between_the_bare_rows_and_the_deletion(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_all(keeper, 1)
    before = keeper.rows(_SHAPE)
    keeper.after(3)
    delete = Deleter._delete

    def die(self: Deleter, store: object, statement: str, *rest: object) -> None:
        if statement.startswith("delete_unbared"):
            raise WarehouseUnavailable("killed here")
        delete(self, store, statement, *rest)  # type: ignore[arg-type]  # passed on as they came

    with monkeypatch.context() as patched:
        patched.setattr(Deleter, "_delete", die)
        with pytest.raises(WarehouseUnavailable):
            keeper.apply(POLICY)
    assert where(keeper, "question ok-0"), "it died on the way"
    assert keeper.retention.has_unburied()
    assert keeper.retention.finish() == 1
    keeper.settle()
    assert where(keeper, "question ok-0") == []
    assert keeper.rows(_SHAPE) == before
    assert keeper.rows("SELECT max(variants) FROM spans") == [[1]]
    assert keeper.retention.look_again() == 0


@pytest.mark.long
def test_a_sender_that_writes_the_mark_itself_keeps_no_payload_by_it(
    warehouse: EmbeddedWarehouse, tmp_path: Path
) -> None:
    keeper = Keeper(warehouse, tmp_path, segment_bytes=3_000)
    spans = ExportTraceServiceRequest.FromString(agent_run("marked", "ok"))
    for span in spans.resource_spans[0].scope_spans[0].spans:
        span.attributes.add(key="retrospan.redacted").value.string_value = MARK
    logs = ExportLogsServiceRequest.FromString(said_log("marked"))
    for record in logs.resource_logs[0].scope_logs[0].log_records:
        record.attributes.add(key="retrospan.redacted").value.string_value = MARK
    keeper.send([spans.SerializeToString()])
    keeper.log.append(tenant="default", logs=logs.SerializeToString(), items=1)
    keeper.send([agent_run("golden-last", "golden", payload=8_000), agent_run("golden-newest", "golden")])
    keeper.settle()
    assert keeper.archive() > 1
    keeper.after(3)
    assert keeper.apply(POLICY) == [trace_of("marked")]
    keeper.settle()
    assert where(keeper, "question marked") == []
    assert keeper.apply(POLICY) == [] and keeper.retention.look_again() == 0
    rows = keeper.rows(_RAW)
    keeper.reload()
    assert where(keeper, "question marked") == [] and keeper.rows(_RAW) == rows
    keeper.close()


@pytest.mark.long
def test_payloads_leave_the_archive_and_the_log_gives_the_same_rows(
    warehouse: EmbeddedWarehouse, tmp_path: Path
) -> None:
    keeper = Keeper(warehouse, tmp_path, segment_bytes=6_000)
    send_all(keeper, 3, payload=500)
    keeper.send([agent_run("golden-last", "golden", payload=8_000), agent_run("golden-newest", "golden")])
    keeper.settle()
    assert keeper.archive() > 2
    keeper.after(3)
    assert keeper.apply(POLICY)
    keeper.settle()
    assert keeper.apply(POLICY) == []
    hashes = keeper.rows(
        "SELECT content_hash != hash_after, hash_after != '' FROM retention_log WHERE what = 'segment'"
    )
    assert hashes and all(row == [True, True] for row in hashes), "each once, and something is left of each"
    rows, runs = keeper.rows(_RAW), keeper.runs()
    keeper.reload()
    assert keeper.rows(_RAW) == rows, "by the same hash, made from the bytes of the log"
    assert keeper.runs() == runs
    loaded = keeper.loader.loaded_sequence
    keeper.close()
    log = WriteAheadLog.open(tmp_path / "log", low_water_bytes=0, loaded_sequence=loaded)
    content, last = b"", 0
    while (chunk := log.read(last, max_bytes=1 << 20)) is not None:
        content, last = content + chunk.data, chunk.last_sequence
    log.close()
    for name in ("ok-0", "ok-2"):
        assert bytes.fromhex(trace_of(name)) in content
        assert f"question {name}x".encode() not in content and f"answer {name}".encode() not in content
    assert b"question error-0x" in content


def test_a_bare_span_keeps_what_is_listed_and_nothing_else() -> None:
    span = Span(trace_id=b"t" * 16, span_id=b"s" * 8, name="chat", kind=Span.SPAN_KIND_CLIENT, flags=1)
    span.status.code, span.status.message = Status.STATUS_CODE_ERROR, "secret"
    span.attributes.add(key="gen_ai.request.model").value.string_value = "m-1"
    span.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = 7
    span.attributes.add(key="nobody.has.heard.of").value.int_value = 1234
    span.attributes.add(key="input.value").value.string_value = "secret"
    event = span.events.add(name="exception", time_unix_nano=5)
    event.attributes.add(key="exception.type").value.string_value = "ValueError"
    event.attributes.add(key="exception.message").value.string_value = "secret"
    span.links.add(trace_id=b"o" * 16, span_id=b"l" * 8).attributes.add(
        key="why"
    ).value.string_value = "secret"
    data = span.SerializeToString()
    group = b"\xa3\x06\x0a\x06secret\xa4\x06"  # of a kind that OTLP does not have
    assert strip_span(data + group) == strip_span(data)
    bare = strip_span(data + b"\xfa\x3e\x06secret")  # a field that no release has
    assert b"secret" not in bare and strip_span(bare) is bare
    span.attributes.add(key="retrospan.redacted").value.string_value = MARK
    assert strip_span(span.SerializeToString()) == bare, "whoever sends may write the mark"
    left = Span.FromString(bare)
    assert [attribute.key for attribute in left.attributes] == [
        "gen_ai.request.model",
        "gen_ai.usage.input_tokens",
        "retrospan.redacted",
    ]
    assert left.attributes[-1].value.string_value == MARK
    assert (left.name, left.kind, left.flags, left.status.code) == ("chat", span.kind, 1, span.status.code)
    assert [(e.name, e.time_unix_nano, [a.key for a in e.attributes]) for e in left.events] == [
        ("exception", 5, ["exception.type"])
    ]
    assert [(link.trace_id, len(link.attributes)) for link in left.links] == [(b"o" * 16, 0)]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('[payloads]\nok = "7d"', 2, "payloads are deleted with their run at 7d"),
        ('[keep]\nok = "30d"\n[payloads]\nok = "40d"', 4, "payloads are deleted with their run at 30d"),
        ('[payloads]\nokay = "1d"', 2, "unknown class 'okay'; did you mean 'ok'"),
        ('[payloads]\nheld = "1d"', 2, "cannot shorten a hold"),
        ('[payloads]\nok = "-1d"', 2, "an age cannot be negative"),
        (
            '[[rule]]\nagent = "a"\nkeep = "5d"\npayloads = "6d"',
            4,
            "payloads are deleted with their run at 5d",
        ),
    ],
)
def test_ages_of_payloads_that_cannot_be_meant(text: str, line: int, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_policy(text, "keep.toml")
    assert f"keep.toml line {line}: " in str(caught.value) and says in str(caught.value)


def test_a_rule_has_an_age_of_payloads_of_its_own() -> None:
    policy = read_policy('[[rule]]\nagent = "a"\nkeep = "5d"\npayloads = "1d"', "keep.toml").payloads
    assert policy is not None
    assert cast(int, policy.shortest) == 86_400 * 10**9
    assert read_policy("", "keep.toml").payloads is None
