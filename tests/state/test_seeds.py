"""The state seeds over real OTLP, from a plain SDK: what changed, what was known, what rests on what, what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_collector import Served
from state import seeds
from state.agents import Agent, at, observe, use

CONFIG = "entity_type = 'config' AND entity_id = 'acme-config'"
Rows = list[dict[str, Any]]


class Told(Served):
    """A collector that was told the stories; `nightly` is the state of the pipeline as it crashed."""

    nightly: dict[str, str]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    directory: Path = tmp_path_factory.mktemp("seeds")
    collector = Told(directory / "data", directory / "stderr.txt")
    try:
        agent = Agent(collector.grpc, "seeds")
        seeds.configure(agent)
        collector.nightly = seeds.crash(agent)
        seeds.evaluate(agent)
        seeds.ship(agent)
        seeds.break_off(agent)
        agent.flush()
        agent.close()
        collector.wait_idle()
        yield collector
    finally:
        collector.kill()


def state_of(told: Served, entity: str, when: str = "", known: str = "") -> Rows:
    kind, _, name = entity.partition("/")
    return told.rows(
        "SELECT * FROM entity_state(entity_type = {kind:String}, entity_id = {name:String}, "
        "at = {at:String}, known_at = {known:String}) ORDER BY field",
        kind=kind,
        name=name,
        at=when,
        known=known,
    )


def test_nothing_of_the_stories_was_misread(told: Told) -> None:
    assert told.rows("SELECT * FROM interpretation_problems") == []


def test_s0_2_what_changed_since_the_deploy(told: Told) -> None:
    changes = told.rows(
        "SELECT field, old_value, new_value, formatDateTime(at, '%H:%i') AS clock, run_id, step, agent_name, source "
        f"FROM entity_timeline WHERE {CONFIG} AND at >= '2026-11-20 14:00:00' ORDER BY at"
    )
    assert [tuple(row.values()) for row in changes] == [
        ("rate_limit", "50", "100", "14:32", "tuner-1430", 2, "tuner", "load test"),
        ("region", '"us-east-1"', '"eu-north-1"', "14:38", "mover-1435", 1, "mover", None),
    ]


def test_s0_2_the_command_says_the_same(told: Told) -> None:
    said = told.run("entity", "config/acme-config", "--since", "2026-11-20T14:00:00Z", "--json")
    lines = [json.loads(line) for line in said.splitlines()]
    assert [(row["field"], row["old_value"], row["new_value"], row["agent_name"]) for row in lines] == [
        ("rate_limit", 50, 100, "tuner"),
        ("region", "us-east-1", "eu-north-1", "mover"),
    ]


def test_s0_3_an_output_leads_to_its_observations(told: Told) -> None:
    edges = told.rows("SELECT subject, relation, object FROM provenance_edges")
    above: dict[str, set[str]] = {}
    for edge in edges:
        above.setdefault(edge["subject"], set()).add(edge["object"])
    reached, frontier = set(), {"output:2841"}
    while frontier:
        reached |= frontier
        frontier = {found for ref in frontier for found in above.get(ref, set())} - reached
    assert reached == {
        "output:2841",
        "step:eval-2841/1",
        "observation:4091",
        "observation:4092",
        "step:ingest-4091/1",
        "step:ingest-4092/1",
        "document:policy.pdf",
        "document:prices.csv",
    }


def test_s0_4_the_state_at_the_crash_from_847_observations(told: Told) -> None:
    known = told.rows(
        "SELECT count() AS said FROM observations WHERE entity_type = 'pipeline' AND run_id = 'nightly'"
    )
    assert int(known[0]["said"]) == 847
    assert told.rows("SELECT checkpoint_id, step FROM checkpoints WHERE run_id = 'nightly'") == [
        {"checkpoint_id": "cp-2200", "step": 1}
    ]
    found = {row["field"]: row["value"] for row in state_of(told, seeds.PIPELINE, "2026-11-21T03:12:00Z")}
    assert found == told.nightly
    now = {row["value"] for row in state_of(told, seeds.PIPELINE)}
    assert now == {'"restarted"'}


def test_s0_6_an_overwrite_keeps_what_was_and_names_who_did_it(told: Told) -> None:
    rows = told.rows(
        "SELECT field, old_value, new_value, old_run_id, old_agent_name, run_id, step, agent_name, was_read "
        f"FROM overwrites WHERE {CONFIG} AND at >= '2026-11-20 14:00:00' ORDER BY at"
    )
    # The tuner had read the limit and said it again, so what it replaced was its own statement.
    assert [tuple(row.values()) for row in rows] == [
        ("region", '"us-east-1"', '"eu-north-1"', "ops-0900", "ops", "mover-1435", 1, "mover", False),
    ]


def test_s0_7_readers_of_what_was_overwritten(told: Told) -> None:
    rows = told.rows(
        "SELECT run_id, step, agent_name, field, value, new_value, overwritten_run_id, overwritten_agent_name, "
        f"stale_when_read FROM stale_reads WHERE {CONFIG} ORDER BY read_at"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("reader-1400", 1, "reader", "rate_limit", "50", "100", "tuner-1430", "tuner", False)
    ]


def test_s0_8_every_change_leads_to_its_step(told: Told) -> None:
    rows = told.rows(
        "SELECT t.field AS field, t.step AS step, s.name AS name FROM entity_timeline AS t "
        "INNER JOIN steps AS s ON s.run_id = t.run_id AND s.step = t.step "
        f"WHERE {CONFIG} AND t.at >= '2026-11-20 14:00:00' ORDER BY t.at"
    )
    assert [row["name"] for row in rows] == ["raise the limit", "move the region"]
    lost = told.rows(
        "SELECT count() AS n FROM entity_timeline WHERE entity_type = 'pipeline' AND step IS NULL"
    )
    assert int(lost[0]["n"]) == len(
        seeds.FIELDS
    )  # of the restart, which was said by the root, before any step


@pytest.mark.long
def test_s0_9_the_order_of_sending_does_not_matter(told: Told) -> None:
    """The same statements about three things, sent in three orders."""
    statements: list[tuple[dict[str, object], dict[str, Any]]] = [
        ({"a": 1, "b": "x"}, {"valid_from": "2026-11-20T08:00:00Z"}),
        ({"a": 2}, {"valid_from": "2026-11-20T09:00:00Z", "priority": 5}),
        ({"a": 3, "b": None}, {"valid_from": "2026-11-20T10:00:00Z"}),
        ({"a": 4}, {"valid_from": "2026-11-20T09:30:00Z", "correction": True}),
        ({"b": "y"}, {"valid_from": "2026-11-20T11:00:00Z"}),
    ]
    for name, order in (("one", (0, 1, 2, 3, 4)), ("two", (4, 3, 2, 1, 0)), ("three", (2, 4, 0, 3, 1))):
        for place in order:
            changes, more = statements[place]
            agent = Agent(told.grpc, "orders")
            with agent.run(f"{name}-{place}", "writer", at("12:00"), at("12:01")) as root:
                observe(root, f"order/{name}", changes, at("12:00"), observation__id=f"s{place}", **more)
            agent.close()
    told.wait_idle()
    for when in ("2026-11-20T08:30:00Z", "2026-11-20T09:15:00Z", "2026-11-20T10:30:00Z", ""):
        states = [
            [
                (row["field"], row["value"], row["introduced_by"])
                for row in state_of(told, f"order/{name}", when)
            ]
            for name in ("one", "two", "three")
        ]
        assert states[0] and states[0] == states[1] == states[2]
    assert [(row["field"], row["value"]) for row in state_of(told, "order/two")] == [("a", "4"), ("b", '"y"')]


def test_s0_10_reading_a_state_names_its_schema(told: Told) -> None:
    rows = told.rows("SELECT state_schema FROM steps WHERE run_id = 'task_abc123' AND name = 'send_email'")
    assert rows == [{"state_schema": "order@3"}]
    assert "source explicit, schema order@3" in told.run("state", "task_abc123/1")


def test_s0_11_a_correction_is_one_more_statement_and_stays(told: Told) -> None:
    said = told.rows(
        f"SELECT value, priority, correction, reason FROM observations WHERE {CONFIG} AND field = 'region' "
        "ORDER BY valid_from"
    )
    assert [(row["value"], row["priority"], row["correction"]) for row in said] == [
        ('"us-east-1"', 0, False),
        ('"eu-north-1"', 1000, True),
        ('"us-east-1"', 999, False),  # later, and as loud as a sender can be
    ]
    (region,) = [row for row in state_of(told, "config/acme-config") if row["field"] == "region"]
    assert (region["value"], region["correction"]) == ('"eu-north-1"', True)
    (before,) = [
        row
        for row in state_of(told, "config/acme-config", "2026-11-20T14:37:00Z")
        if row["field"] == "region"
    ]
    assert before["value"] == '"us-east-1"'


def test_what_was_cleared_is_gone_and_what_came_late_counts_from_when_it_held(told: Told) -> None:
    fields = {row["field"]: row["value"] for row in state_of(told, "config/acme-config")}
    assert fields == {"rate_limit": "100", "region": '"eu-north-1"', "owner": '"ops"'}
    early = {
        row["field"]: row["value"] for row in state_of(told, "config/acme-config", "2026-11-20T08:00:00Z")
    }
    assert early == {"owner": '"founders"'}
    assert state_of(told, "config/acme-config", "", "2026-11-20T08:00:00Z") == []  # nothing had arrived


def test_s3_1_the_five_layers_of_a_failed_run(told: Told) -> None:
    steps = told.rows(
        "SELECT name, task_step, task_step_name, task_steps_total, status, attempt FROM steps "
        "WHERE run_id = 'task_abc123' ORDER BY step"
    )
    assert [(row["name"], row["task_step"], row["task_steps_total"], row["status"]) for row in steps] == [
        ("send_email", 4, 9, "ok"),
        ("reserve", 6, 9, "ok"),
        ("book", 6, 9, "error"),
        ("book", 6, 9, "error"),
    ]
    assert told.rows("SELECT result FROM tool_calls WHERE run_id = 'task_abc123' AND ordinal = 1") == [
        {"result": '{"message_id":"m-0"}'}
    ]
    assert told.rows(
        "SELECT step, name, chosen, rationale, options FROM decisions WHERE run_id = 'task_abc123'"
    ) == [
        {
            "step": 1,
            "name": "channel",
            "chosen": "mail",
            "rationale": "the customer asked for it",
            "options": '["mail","phone"]',
        }
    ]
    tries = told.rows(
        "SELECT attempt, backoff_ms, error_type FROM retries WHERE run_id = 'task_abc123' ORDER BY step"
    )
    assert [(row["attempt"], row["backoff_ms"] and int(row["backoff_ms"])) for row in tries] == [
        (1, None),
        (2, 500),
    ]
    failures = told.rows(
        "SELECT step, error_type, error_message FROM failures WHERE run_id = 'task_abc123' ORDER BY at"
    )
    assert failures[0] == {
        "step": 3,
        "error_type": "TimeoutError",
        "error_message": "the ledger did not answer",
    }


def test_s3_2_which_layers_are_missing(told: Told) -> None:
    rows = told.rows(
        "SELECT run_id, task_position, tool_outputs, decisions, retry_context, failure_context, missing "
        "FROM missing_layers WHERE run_id IN ('task_abc123', 'refund-7') ORDER BY run_id"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("refund-7", True, False, True, False, True, 3),
        ("task_abc123", False, False, False, False, False, 0),
    ]


def test_s3_3_the_state_is_the_replay_of_what_was_said(told: Told) -> None:
    rows = told.rows(
        "SELECT key, value, changed_at_step FROM run_state(run_id = 'task_abc123', step = 0) ORDER BY key"
    )
    assert [(row["key"], row["value"]) for row in rows] == [
        ("booked", "true"),
        ("mails", "1"),
        ("order", '"A-17"'),
    ]


def test_s3_4_what_is_to_be_undone(told: Told) -> None:
    rows = told.rows(
        "SELECT tool_name, compensated_by IS NOT NULL AS undone, problem FROM effects WHERE run_id = 'refund-7' ORDER BY at"
    )
    assert [(row["tool_name"], bool(row["undone"]), row["problem"]) for row in rows] == [
        ("charge", True, ""),
        ("ship_label", False, "to_compensate"),
        ("refund", False, ""),
    ]
    # A later run of the same origin came to a good end, so nothing of the first is left to undo.
    assert (
        told.rows("SELECT 1 FROM effects WHERE run_id = 'task_abc123' AND has(problems, 'to_compensate')")
        == []
    )


def test_s3_5_the_mail_that_was_sent_twice_and_the_call_without_a_key(told: Told) -> None:
    rows = told.rows(
        "SELECT run_id, origin_run_id, tool_name, idempotency_key, times_executed, problem FROM effects "
        "WHERE problem IN ('executed_twice', 'no_key') ORDER BY problem, run_id"
    )
    key = "task_abc123:step_4:send_email:f3a9b12c"
    assert [(*tuple(row.values())[:4], int(row["times_executed"]), row["problem"]) for row in rows] == [
        ("task_abc123", "task_abc123", "send_email", key, 2, "executed_twice"),
        ("task_abc123-2", "task_abc123", "send_email", key, 2, "executed_twice"),
        ("task_abc123", "task_abc123", "reserve", None, 1, "no_key"),
        ("task_abc123-2", "task_abc123", "reserve", None, 1, "no_key"),
    ]
    booked = told.rows(
        "SELECT effect_status, times_executed FROM effects WHERE tool_name = 'book' ORDER BY at"
    )
    assert [(row["effect_status"], int(row["times_executed"])) for row in booked] == [
        ("unknown", 1),
        ("unknown", 1),
        ("executed", 1),
    ]


def test_s3_6_the_state_before_and_after_each_step(told: Told) -> None:
    rows = told.rows(
        "SELECT step, status, state_before, state_after FROM steps WHERE run_id = 'task_abc123' "
        "AND state_source = 'explicit' ORDER BY step"
    )
    before = {"order": "A-17", "mails": 0}
    assert [
        (
            row["step"],
            row["status"],
            row["state_before"] and json.loads(row["state_before"]),
            row["state_after"] and json.loads(row["state_after"]),
        )
        for row in rows
    ] == [
        (1, "ok", before, before | {"mails": 1}),
        (2, "ok", before | {"mails": 1}, None),
        (4, "error", None, before | {"mails": 1, "booked": True}),
    ]


@pytest.mark.long
def test_bad_values_are_listed_and_nothing_else_is_lost(told: Told) -> None:
    agent = Agent(told.grpc, "bad")
    with agent.run("bad-values", "sloppy", at("12:00"), at("12:01")) as root:
        observe(
            root, "bad/one", {"x": 1}, at("12:00"), valid_from="yesterday", confidence=7.0, priority="high"
        )
        root.add_event("retrospan.observation", {"retrospan.entity.type": "bad", "retrospan.changes": "{"})
        root.add_event("retrospan.derivation", {"retrospan.relation": "likes", "retrospan.subject": "a"})
        root.add_event("retrospan.decision", {"retrospan.decision.options": "mail"})
        root.add_event("retrospan.opinion", {})
        use(root, "bad/", at("12:00"))
        root.set_attribute("retrospan.effect", "magic")
    agent.close()
    told.wait_idle()
    rows = told.rows("SELECT field, reason FROM interpretation_problems WHERE run_id = 'bad-values'")
    assert {row["field"] for row in rows} == {
        "retrospan.valid_from",
        "retrospan.confidence",
        "retrospan.priority",
        "retrospan.entity.id",
        "retrospan.changes",
        "retrospan.relation",
        "retrospan.subject",
        "retrospan.object",
        "retrospan.decision.options",
        "retrospan.decision.name",
        "retrospan.decision.chosen",
        "retrospan.opinion",
        "retrospan.effect",
    }
    (kept,) = state_of(told, "bad/one")
    assert (kept["field"], kept["value"], kept["confidence"]) == ("x", "1", None)
