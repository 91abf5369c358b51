"""The whole path: real OTLP in over real sockets, answers out."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
import urllib.error
from pathlib import Path

import clickhouse_connect
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError
from fix_collector import Served
from fix_recordings import Recording
from rewritten import cut_short, happened_again
from spans import rows_of_recording

#: Columns that may differ between two readings of the same requests: `semantics.md`, Equal rows.
_UNEQUAL = {"ingested_at"}
_VIEWS = ("spans", "runs", "model_calls", "tool_calls", "messages", "steps", "provenance_edges", "loops")


def _everything(served: Served) -> dict[str, list[str]]:
    """Return all rows of all views, as sorted JSON."""
    found = {}
    for view in _VIEWS:
        rows = served.rows(f"SELECT * FROM {view}")
        found[view] = sorted(
            json.dumps({key: value for key, value in row.items() if key not in _UNEQUAL}, sort_keys=True)
            for row in rows
        )
    return found


@pytest.mark.parametrize("protocol", ["grpc", pytest.param("http", marks=pytest.mark.long)])
def test_a_stock_program_shows_up_within_three_seconds(served: Served, protocol: str) -> None:
    program = Path(__file__).with_name("stock_agent.py")
    endpoint = served.grpc if protocol == "grpc" else served.http
    subprocess.run([sys.executable, str(program), protocol, endpoint], check=True, timeout=60)
    acknowledged = time.monotonic()
    served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 1, seconds=120)
    took = time.monotonic() - acknowledged
    (run,) = [json.loads(line) for line in served.run("runs", "--json").splitlines()]
    assert (run["agent_name"], run["input"], run["output"]) == (f"stock-{protocol}", "Hi", "Ho")
    print(f"visible {took:.2f} s after the acknowledgement")


SEEDED = "import random, runpy, sys; random.seed(42); sys.argv[0] = {0!r}; runpy.run_path({0!r}, run_name='__main__')"


@pytest.mark.long
def test_executions_of_a_stock_program_with_a_fixed_seed_are_not_hidden_without_a_word(
    served: Served,
) -> None:
    """OpenTelemetry's SDK gives both the same ids: the last is shown, and its run says that there was another."""
    program = SEEDED.format(str(Path(__file__).with_name("stock_agent.py")))
    for _ in range(2):
        subprocess.run([sys.executable, "-c", program, "http", served.http], check=True, timeout=60)
    served.until(lambda: bool(served.rows("SELECT field FROM interpretation_problems")), seconds=120)
    ((run, problems),) = [(row["run_id"], row["problems"]) for row in served.rows("SELECT * FROM runs")]
    assert problems == 1
    (problem,) = served.rows("SELECT * FROM interpretation_problems")
    assert (problem["run_id"], problem["field"], problem["raw"]) == (run, "trace_id", "1")
    assert {row["variants"] for row in served.rows("SELECT variants FROM spans")} == {2}
    assert "came again under the same ids" in served.run("show", run)


@pytest.mark.long
def test_the_command_line_answers_about_recorded_runs(
    served: Served, recordings: dict[str, Recording]
) -> None:
    names = ("langgraph-openinference/diverge_a", "langgraph-openinference/diverge_b")
    a, b = (recordings[name] for name in names)
    (one,), (other,) = rows_of_recording(a), rows_of_recording(b)
    served.send([*a.traces, *b.traces])
    served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 2)
    (said,) = served.rows(
        "SELECT * FROM run_divergence(a = {a:String}, b = {b:String})",
        a=one.runs[0].run_id,
        b=other.runs[0].run_id,
    )
    assert (said["step_a"], said["step_b"], said["cause"], said["aspect"]) == (5, 5, "sampling", "answer")
    assert "update_record" in said["value_a"]
    assert "send_email" in said["value_b"]
    text = served.run("diff", one.runs[0].run_id, other.runs[0].run_id)
    assert "sampling" in text.splitlines()[0]
    assert "update_record" in text
    assert "send_email" in text


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("genai-openai.span_and_event/normal", marks=pytest.mark.long),
        pytest.param("openai-v2.legacy_events/loop", marks=pytest.mark.soak),
        pytest.param("langgraph-openinference/normal", marks=pytest.mark.soak),
    ],
)
def test_a_run_that_happens_again_is_identical_and_cut_short_is_a_prefix(
    name: str, served: Served, recordings: dict[str, Recording]
) -> None:
    recording = recordings[name]
    (first,) = rows_of_recording(recording)
    hour = 3_600_000_000_000
    traces, logs, (again,) = happened_again(recording.traces, recording.logs, hour)
    part_traces, part_logs, (part,) = happened_again(traces, logs, hour)
    served.send(
        [*recording.traces, *traces, *cut_short(part_traces, 7)], [*recording.logs, *logs, *part_logs]
    )
    served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 3)
    served.wait_idle()
    statement = "SELECT * FROM run_divergence(a = {a:String}, b = {b:String})"
    (said,) = served.rows(statement, a=first.runs[0].run_id, b=again)
    assert (said["identical"], said["prefix"], said["cause"]) == (True, "none", "")
    assert "identical" in served.run("diff", first.runs[0].run_id, again).splitlines()[0]
    (said,) = served.rows(statement, a=first.runs[0].run_id, b=part)
    assert (said["identical"], said["prefix"]) == (False, "b")
    (said,) = served.rows(statement, a=part, b=again)
    assert (said["identical"], said["prefix"]) == (False, "a")


@pytest.mark.long
def test_sql_clients_read_and_cannot_write(served: Served, recordings: dict[str, Recording]) -> None:
    recording = recordings["genai-openai.span_only/normal"]
    served.send(recording.traces)
    served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 1)
    host, port = served.sql.split(":")
    client = clickhouse_connect.get_client(host=host, port=int(port))
    try:
        assert client.query_df("SELECT tool_name FROM tool_calls ORDER BY ordinal")[
            "tool_name"
        ].to_list() == [
            "search_docs",
            "get_weather",
            "update_record",
            "send_email",
        ]
        assert client.query_arrow("SELECT step, name FROM steps").num_rows == 9
        for refused in (
            "SELECT * FROM file('/etc/passwd', 'LineAsString')",
            "INSERT INTO runs VALUES (1)",
            "DROP TABLE raw_spans",
            "SELECT 1; SELECT 2",
        ):
            with pytest.raises(DatabaseError):
                client.query(refused)
    finally:
        client.close()
    served.send(recordings["genai-openai.span_only/loop"].traces)
    served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 2)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("genai-openai.span_and_event/normal", marks=pytest.mark.soak),
        pytest.param("genai-openai.responses/multiturn", marks=pytest.mark.soak),
        pytest.param("langgraph-openinference/tool_error", marks=pytest.mark.soak),
    ],
)
def test_other_orders_with_duplicates_give_equal_rows(
    name: str, recordings: dict[str, Recording], tmp_path: Path
) -> None:
    recording = recordings[name]
    expected = None
    runs = rows_of_recording(recording)
    chance = random.Random(11)
    bodies = [("traces", body) for body in recording.traces] + [("logs", body) for body in recording.logs]
    for turn in range(4):
        served = Served(tmp_path / f"data{turn}", tmp_path / "stderr.txt")
        try:
            order = bodies if not turn else [*bodies, *chance.sample(bodies, len(bodies) // 2)]
            if turn:
                chance.shuffle(order)
            for kind, body in order:
                served.send([body] if kind == "traces" else [], [body] if kind == "logs" else [])
            served.wait_idle()
            rows = _everything(served)
        finally:
            served.stop()
        expected = expected or rows
        assert rows == expected
    assert expected is not None
    assert len(expected["runs"]) == len(runs)


@pytest.mark.long
def test_rebuild_after_deleting_every_table_gives_equal_rows(
    served: Served, recordings: dict[str, Recording]
) -> None:
    for name in (
        "genai-openai.span_and_event/normal",
        "langgraph-openinference/multiturn",
        "openai-v2.legacy_events/loop",
    ):
        served.send(recordings[name].traces, recordings[name].logs)
    served.wait_idle()
    before = _everything(served)
    assert len(before["runs"]) == 4
    assert served.stop() == 0
    _drop_everything(served.data)
    served.start()
    served.run("rebuild")
    served.wait_idle()
    assert _everything(served) == before


def _drop_everything(data: Path) -> None:
    """Drop every table of a stopped collector's directory, in a process of its own."""
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse\n"
        "warehouse = EmbeddedWarehouse(Path(sys.argv[1]))\nstore = warehouse.connect()\n"
        "names = store.rows(\"SELECT name FROM system.tables WHERE database = 'retrospan'\")\n"
        "assert len(names) > 20, names\n"
        "for (name,) in names:\n    store.command('DROP TABLE IF EXISTS {name:Identifier}', {'name': name})\n"
        "assert not store.rows(\"SELECT name FROM system.tables WHERE database = 'retrospan'\")\n"
        "warehouse.close()\n"
    )
    subprocess.run([sys.executable, "-c", program, str(data / "warehouse")], check=True, timeout=120)


def test_a_second_collector_on_the_directory_is_refused_by_name_and_pid(
    module_served: Served, tmp_path: Path
) -> None:
    served = module_served
    with pytest.raises(AssertionError) as refused:
        Served(served.data, tmp_path / "second.txt")
    assert str(served.data) in str(refused.value)
    assert str(served.process.pid) in str(refused.value)
    assert served.rows("SELECT 1 AS one") == [{"one": 1}]


def test_what_is_not_otlp_is_refused_and_listed(module_served: Served) -> None:
    served = module_served
    with pytest.raises(urllib.error.HTTPError) as refused:
        served.post("/v1/traces", b"\xff\xff\xff", "application/x-protobuf")
    assert refused.value.code == 400
    refused.value.close()
    served.until(lambda: len(served.rows("SELECT reason FROM rejects")) == 1)
    (reject,) = served.rows("SELECT signal, spans, reason FROM rejects")
    assert reject["signal"] == "traces"
