"""No question reads more than it must: filters reach the primary keys, lists leave payloads alone."""

from __future__ import annotations

import hashlib
import json
import re

import pytest
from story import Ask, Story, calls, text

from retrospan.ingest.answer.readers import HELPFUL
from retrospan.ingest.warehouse.embedded import EmbeddedStore


def _reads(store: EmbeddedStore, query: str) -> list[tuple[str, str]]:
    """(table, what the primary key is asked) of every read in the plan."""
    plan = store.query(f"EXPLAIN indexes = 1 {query}", output_format="TSVRaw").decode()
    found = []
    for read in re.split(r"ReadFromMergeTree \(retrospan\.", plan)[1:]:
        key = re.search(r"PrimaryKey.*?Condition: (.*)", read, re.DOTALL)
        found.append((read[: read.index(")")], key[1].splitlines()[0] if key else ""))
    return found


@pytest.fixture(scope="module")
def told(module_views: EmbeddedStore) -> EmbeddedStore:
    """Two runs. What a test adds is of traces of its own, in which nothing loops."""
    for run_id in ("r", "s"):
        story = Story(run_id)
        story.hear(text("user", "x"))
        for _ in range(3):
            story.model(calls("search", q="a"))
            story.tool("search", {"q": "a"}, [])
        story.state(1, city="Oslo")
        story.tell(module_views)
    return module_views


@pytest.mark.long
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM runs WHERE run_id = 'r'",
        "SELECT * FROM model_calls WHERE run_id = 'r'",
        "SELECT * FROM tool_calls WHERE run_id = 'r'",
        "SELECT * FROM messages WHERE run_id = 'r'",
        "SELECT * FROM steps WHERE run_id = 'r'",
        "SELECT * FROM loops WHERE run_id = 'r'",
        "SELECT * FROM provenance_edges WHERE run_id = 'r'",
        "SELECT * FROM interpretation_problems WHERE run_id = 'r'",
        "SELECT * FROM context_use WHERE run_id = 'r'",
        "SELECT * FROM failures WHERE run_id = 'r'",
        "SELECT * FROM retries WHERE run_id = 'r'",
        "SELECT * FROM evaluations WHERE run_id = 'r'",
        "SELECT * FROM cost WHERE run_id = 'r'",
        "SELECT * FROM prompt_shares WHERE run_id = 'r'",
        "SELECT * FROM model_calls WHERE run_id IN ('r', 's')",
        "SELECT * FROM run_state(run_id = 'r', step = 1)",
    ],
)
def test_a_run_filter_reaches_every_key(told: EmbeddedStore, query: str) -> None:
    reads = _reads(told, query)
    assert reads
    # Which runs another one resumes is asked of all runs: two narrow columns, one row for each run.
    of_all = [("canon_runs", "true")] if " FROM runs " in query else []
    assert [read for read in reads if "run_id" not in read[1]] == of_all


@pytest.mark.long
def test_a_walk_reads_its_own_runs(told: EmbeddedStore) -> None:
    reads = _reads(told, "SELECT * FROM provenance(ref = 'run:r', depth = 5, direction = 'up')")
    payload = [read for read in reads if read[0] in ("canon_values", "canon_edges", "canon_steps")]
    assert payload
    # A read without any condition stands behind a filter that is always false: only runs of one conversation.
    assert [read for read in payload if read[1] and "run_id" not in read[1]] == []


def test_a_trace_filter_reaches_the_keys_of_spans(told: EmbeddedStore) -> None:
    """Of 200,000 spans in 2,000 traces those of one trace are found without reading where the others are.

    So it is for traces whose spans came once, and for those in which a span came again.
    """
    spans, traces = 200_000, 2_000
    for again in range(2):
        told.command(
            "INSERT INTO raw_spans (tenant, trace_id, span_id, content_hash, sequence, arrived_at) "
            "SELECT 'default', lower(hex(MD5(toString(number % {traces:UInt32})))), toString(number), {again:UInt8}, "
            "{again:UInt8}, now64(9) FROM numbers({spans:UInt32}) WHERE {again:UInt8} = 0 OR number % 2000 = 8",
            {"traces": traces, "spans": spans, "again": again},
        )
    for number, variants in ((7, 1), (8, 2)):
        answer = json.loads(
            told.query(
                "SELECT span_id, variants FROM spans WHERE trace_id = {id:String}",
                {"id": hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()},
                output_format="JSON",
                settings=HELPFUL,
            )
        )
        assert answer["rows"] == spans // traces
        assert {row["variants"] for row in answer["data"]} == {variants}
        assert answer["statistics"]["rows_read"] < spans / 10


@pytest.mark.parametrize(
    ("query", "payload"),
    [
        ("SELECT count() FROM model_calls", "json"),
        ("SELECT run_id, ordinal, request_model, input_tokens FROM model_calls", "json"),
        ("SELECT run_id, step, name, status FROM steps", "json"),
        ("SELECT run_id, model_call, role, message_hash FROM messages", "json"),
        ("SELECT tool_name, status FROM tool_calls", "result"),
        ("SELECT run_id, name, score, label FROM evaluations", "explanation"),
        ("SELECT run_id, at, severity, event_name FROM logs", "body"),
        ("SELECT run_id, outcome, started_at FROM runs ORDER BY started_at DESC LIMIT 50", "input"),
        ("SELECT count() FROM spans", "attributes"),
        ("SELECT trace_id, name, status, duration_ms FROM spans", "attributes"),
    ],
)
def test_lists_read_no_payload(told: EmbeddedStore, query: str, payload: str) -> None:
    plan = told.query(f"EXPLAIN indexes = 1 {query}", output_format="TSVRaw").decode()
    outputs = [line.split(":", 1)[1].split(", ") for line in plan.splitlines() if "  Output:" in line]
    assert all(payload not in [name.strip() for name in names] for names in outputs), plan


def test_pages_of_views_leave_nothing_out(told: EmbeddedStore, module_ask: Ask) -> None:
    assert module_ask("SELECT count() AS n FROM loops") == [{"n": 2}]
    assert module_ask("SELECT run_id FROM loops WHERE run_id = 's'") == [{"run_id": "s"}]


def test_the_records_of_a_run_are_read_by_their_key(told: EmbeddedStore) -> None:
    """Of 200,000 records in 2,000 traces those of one run are found without reading where the others are."""
    records, traces = 200_000, 2_000
    told.command(
        "INSERT INTO raw_logs (tenant, trace_id, span_id, content_hash, arrived_at, body) "
        "SELECT 'default', lower(hex(MD5(toString(number % {traces:UInt32})))), '', number, now64(9), "
        "tuple('string', 'x') FROM numbers({records:UInt32})",
        {"traces": traces, "records": records},
    )
    told.command(
        "INSERT INTO canon_runs (tenant, run_id, generation, trace_ids) SELECT 'default', id, 1, [id] "
        "FROM (SELECT lower(hex(MD5(toString(number)))) AS id FROM numbers({traces:UInt32}))",
        {"traces": traces},
    )
    run_id = hashlib.md5(b"7", usedforsecurity=False).hexdigest()
    for column in ("run_id", "trace_id"):
        answer = json.loads(
            told.query(
                f"SELECT at, body FROM logs WHERE {column} = {{id:String}}",
                {"id": run_id},
                output_format="JSON",
                settings=HELPFUL,
            )
        )
        assert answer["rows"] == records // traces
        assert answer["statistics"]["rows_read"] < records / 10
