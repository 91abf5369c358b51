"""A bundle of one run reads that run: each question reaches the primary keys of what holds texts."""

from __future__ import annotations

import re

import pytest
from story import Story, calls, text

from retrospan.ingest.answer.rewriting.narrowing import narrowed
from retrospan.ingest.bundle.record import record_of
from retrospan.ingest.bundle.rows import BundleRows
from retrospan.ingest.cli.client.questions import statement, with_values
from retrospan.ingest.cli.views.bundle_rows import questions_of
from retrospan.ingest.warehouse.embedded import EmbeddedStore

#: Which runs another one resumes, and which runs there are, is asked of all: narrow columns, one row for each run.
OF_ALL = {"canon_runs"}


@pytest.fixture
def told(views: EmbeddedStore) -> EmbeddedStore:
    for run_id in ("r", "s"):
        story = Story(run_id)
        story.hear(text("user", "x"))
        story.model(calls("search", q="a"))
        story.tool("search", {"q": "a"}, [])
        story.state(1, city="Oslo")
        story.tell(views)
    return views


@pytest.mark.engine
def test_every_question_is_by_the_key_of_the_run(told: EmbeddedStore) -> None:
    for question, parameters in questions_of("r", ["r"]):
        asked = narrowed(with_values(statement(question), parameters))
        plan = told.query(f"EXPLAIN indexes = 1 {asked}", output_format="TSVRaw").decode()
        reads = re.split(r"ReadFromMergeTree \(retrospan\.", plan)[1:]
        # Told runs have no spans; by the traces that spans are kept by, the question asks.
        assert reads or question in ("bundle_spans", "bundle_draws"), question
        for read in reads:
            key = re.search(r"PrimaryKey.*?Condition: (.*)", read, re.DOTALL)
            table = read[: read.index(")")]
            assert table in OF_ALL or (key and re.search("run_id", key[1])), (question, table, plan)


def test_draws_are_read_in_their_order_and_what_is_not_an_object_is_left_out() -> None:
    told = ['{"seed": 1}', "[]", "no JSON", '{"seed": 2, "values": {"a time.time": [1.5]}}']
    about = dict.fromkeys(
        [
            "run_id",
            "service_name",
            "service_version",
            "agent_name",
            "agent_version",
            "conversation_id",
            "run_kind",
            "started_ns",
            "ended_ns",
            "outcome",
            "incomplete_because",
            "parent_run_id",
            "parent_link",
            "fork_step",
            "patch",
            "input",
            "output",
            "dialects",
        ]
    )
    rows = BundleRows(run={**about, "run_id": "r", "dialects": []}, draws=[{"draws": each} for each in told])
    assert record_of(rows, str).draws == ({"seed": 1}, {"seed": 2, "values": {"a time.time": [1.5]}})
