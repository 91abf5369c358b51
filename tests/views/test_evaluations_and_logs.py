"""The views `evaluations` and `logs`: what each row says, whose it is, and that none is lost or there twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from story import START, Ask, Story, text

from retrospan.ingest.warehouse.embedded import EmbeddedStore


def log(trace_id: str, span_id: str = "", at: int = START, **more: Any) -> dict[str, Any]:
    return {
        "tenant": "default",
        "trace_id": trace_id,
        "span_id": span_id,
        "content_hash": more.pop("content_hash", at),
        "sequence": 1,
        "arrived_at": 1_780_000_000,
        "time_ns": at,
        "body": dict(zip(("kind", "value"), more.pop("body", ["string", "said"]), strict=True)),
        "attributes": [
            dict(zip(("key", "kind", "value"), each, strict=True)) for each in more.pop("attributes", [])
        ],
        **more,
    }


def store_logs(store: EmbeddedStore, *records: dict[str, Any]) -> None:
    """Write log records, each insert a part of its own: nothing has merged."""
    for record in records:
        store.insert("INSERT INTO raw_logs", json.dumps(record).encode(), "JSONEachRow")


@pytest.fixture
def told(views: EmbeddedStore) -> EmbeddedStore:
    story = Story("r")
    story.hear(text("user", "x"))
    story.model(text("assistant", "Paris"))
    story.tool("search", {"q": "a"}, [])
    story.event(
        "gen_ai.evaluation.result",
        1,
        {
            "gen_ai.evaluation.name": "relevance",
            "gen_ai.evaluation.score.value": 0.5,
            "gen_ai.evaluation.score.label": "fair",
            "gen_ai.evaluation.explanation": "\x1b[31mso so",
            "gen_ai.evaluation.evaluator.name": "ragas",
        },
    )
    story.tell(views)
    return views


def test_an_evaluation_has_all_its_columns(told: EmbeddedStore, ask: Ask) -> None:
    (row,) = ask("SELECT * FROM evaluations WHERE run_id = 'r'")
    (message,) = ask("SELECT message_hash FROM messages WHERE run_id = 'r' AND direction = 'output'")
    assert row == {
        "tenant": "default",
        "run_id": "r",
        "step": 1,
        "span_id": f"{1:016x}",
        "name": "relevance",
        "score": 0.5,
        "label": "fair",
        "explanation": "\x1b[31mso so",
        "judged": f"message:{message['message_hash']}",
        "judge": "ragas",
        "at": "2026-05-28 20:26:41.000000000",
        "response_id": None,
        "error_type": None,
        "trace_id": "r",
    }


def test_records_of_a_run_have_its_steps_and_stand_in_order(told: EmbeddedStore, ask: Ask) -> None:
    store_logs(
        told,
        log("r", f"{2:016x}", START + 3, severity_number=17, severity_text="Error"),
        log("r", "", START + 2, severity_number=9, event_name="device.started"),
        log("r", "f" * 16, START + 1, severity_text="Warning", attributes=[["event.name", "string", "late"]]),
        log("r", "e" * 16, 0, observed_ns=START + 4, content_hash=5),
        log("s", f"{2:016x}", START),
    )
    rows = ask("SELECT span_id, step, severity, event_name FROM logs WHERE run_id = 'r' ORDER BY at")
    assert [tuple(row.values()) for row in rows] == [
        ("f" * 16, None, "WARN", "late"),
        ("", None, "INFO", "device.started"),
        (f"{2:016x}", 2, "ERROR", ""),
        ("e" * 16, None, None, ""),
    ]
    assert ask("SELECT trace_id, step FROM logs WHERE run_id = ''") == [{"trace_id": "s", "step": None}]


SEVERITIES = [
    *((number, "x", name) for number, name in ((1, "TRACE"), (4, "TRACE"), (5, "DEBUG"), (8, "DEBUG"))),
    *((number, "", name) for number, name in ((12, "INFO"), (13, "WARN"), (20, "ERROR"), (21, "FATAL"))),
    (24, "INFO", "FATAL"),
    (0, "warning", "WARN"),
    (0, "critical", "FATAL"),
    (0, "chatty", None),
    (0, "", None),
    (25, "", None),
    (-1, "", None),
]


def test_severity_has_six_words(told: EmbeddedStore, ask: Ask) -> None:
    for at, (number, words, _) in enumerate(SEVERITIES):
        store_logs(told, log("r", at=at + 1, severity_number=number, severity_text=words))
    assert ask("SELECT severity, severity_text FROM logs ORDER BY at") == [
        {"severity": severity, "severity_text": words} for _, words, severity in SEVERITIES
    ]


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (["string", 'say "hi"\x1b'], 'say "hi"\x1b'),
        (["unset", ""], ""),
        (["int", "7"], "7"),
        (["double", "3"], "3.0"),
        (["double", "nan"], "NaN"),
        (["kvlist", '{"a":1}'], '{"a":1}'),
    ],
)
def test_a_body_is_text_or_json(told: EmbeddedStore, ask: Ask, body: list[str], shown: str) -> None:
    store_logs(told, log("r", body=body, attributes=[["k", "int", "1"], ["k", "string", "last"]]))
    assert ask("SELECT body, attributes FROM logs") == [{"body": shown, "attributes": {"k": "last"}}]


def test_a_record_that_was_sent_twice_is_there_once(told: EmbeddedStore, ask: Ask) -> None:
    record = log("r", f"{1:016x}")
    store_logs(told, record, {**record, "sequence": 2, "arrived_at": 1_780_100_000}, record)
    assert ask("SELECT count() AS n FROM logs") == [{"n": 1}]
    assert ask("SELECT step FROM logs WHERE run_id = 'r'") == [{"step": 1}]


def test_in_a_trace_of_several_runs_the_span_tells_whose_a_record_is(views: EmbeddedStore, ask: Ask) -> None:
    def rows(table: str, *rows: dict[str, Any]) -> None:
        for row in rows:
            views.insert(
                f"INSERT INTO {table}", json.dumps({"tenant": "default", **row}).encode(), "JSONEachRow"
            )

    # First it was all one run's; the second reading found two.
    rows("canon_traces", {"trace_id": "t", "run_ids": ["a"], "generation": 1})
    rows("canon_traces", {"trace_id": "t", "run_ids": ["a", "b"], "generation": 2})
    rows("canon_traces", {"trace_id": "u", "run_ids": ["a", "b"], "generation": 1})
    rows("canon_traces", {"trace_id": "u", "run_ids": ["a"], "generation": 2})
    rows("canon_runs", {"run_id": "a", "generation": 2, "trace_ids": ["t", "u"]})
    rows("canon_runs", {"run_id": "b", "generation": 2, "trace_ids": ["t"]})
    spans = [("t", "1", "a", 1), ("t", "2", "a", 1), ("t", "1", "a", 2), ("t", "2", "b", 2)]
    for trace_id, span_id, run_id, generation in spans:
        rows(
            "canon_spans",
            {"trace_id": trace_id, "span_id": span_id, "run_id": run_id, "generation": generation},
        )
    rows("canon_steps", {"run_id": "b", "generation": 2, "step": 3, "trace_id": "t", "span_id": "2"})
    store_logs(
        views,
        *(log("t", span_id, START + at) for at, span_id in enumerate(("1", "2", "", "9"))),
        log("u", ""),
    )
    assert ask("SELECT run_id, span_id, step FROM logs WHERE trace_id = 't' ORDER BY at") == [
        {"run_id": "a", "span_id": "1", "step": None},
        {"run_id": "b", "span_id": "2", "step": 3},
        {"run_id": "", "span_id": "", "step": None},
        {"run_id": "", "span_id": "9", "step": None},
    ]
    assert ask("SELECT run_id FROM logs WHERE trace_id = 'u'") == [{"run_id": "a"}]
    assert ask("SELECT span_id FROM logs WHERE run_id = 'b'") == [{"span_id": "2"}]


def test_a_call_whose_context_was_shortened_says_so(views: EmbeddedStore, ask: Ask) -> None:
    story = Story("r")
    for number in range(3):
        story.hear(text("user", str(number)))
        more = {"gen_ai.conversation.compacted": True} if number else None
        story.model(text("assistant", "yes"), more=more)
    story.tell(views)
    assert ask("SELECT model_call, compacted, compaction FROM context_use ORDER BY model_call") == [
        {"model_call": 1, "compacted": False, "compaction": None},
        {"model_call": 2, "compacted": True, "compaction": None},
        {"model_call": 3, "compacted": False, "compaction": None},
    ]
