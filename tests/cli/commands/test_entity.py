"""`retrospan entity`: changes with who made them, and states at a time as known at a time."""

from __future__ import annotations

import json

from fix_cli import Ask

RECORD = "record/C-1042"


def test_changes_say_what_by_whom_and_since_when(ask: Ask) -> None:
    said = ask("entity", RECORD)
    assert said.code == 0
    assert [line.split() for line in said.lines] == [
        ["AT", "FIELD", "OLD", "→", "NEW", "BY", "HOW"],
        ["2026-09-21", "13:59:58.000", "owner", "-", "→", '"ops/night"', "batch/12/1", "nightly", "-"],
        ["2026-09-21", "13:59:58.000", "status", "-", "→", '"open"', "batch/12/1", "nightly", "-"],
        ["2026-09-21", "14:00:09.000", "owner", '"ops/night"', "→", "-", "4bf92f35/1", "orla", "-"],
        [
            "2026-09-21",
            "14:00:09.100",
            "status",
            '"open"',
            "→",
            '"delay_notified"',
            "4bf92f35/2",
            "orla",
            "-",
        ],
    ]
    assert said.err.startswith(f"4 changes on {RECORD}; times UTC")
    assert ask("entity", "entity:record%2FC-1042".replace("%2F", "/")).out == said.out


def test_since_leaves_earlier_changes_out_and_n_the_earliest(ask: Ask) -> None:
    since = ask("entity", RECORD, "--since", "2026-09-21T14:00:00Z")
    assert len(since.lines) == 3 and "since 2026-09-21 14:00:00" in since.err
    latest = ask("entity", RECORD, "-n", "1")
    assert latest.lines[1].split()[2] == "status"
    assert latest.err.startswith("the latest 1 of 4 changes (-n 4)")
    none = ask("entity", RECORD, "--since", "2026-09-22T00:00:00Z", "--exit-code")
    assert none.code == 1 and none.out == ""
    assert "No change on record/C-1042 since 2026-09-22" in none.err
    assert "of 4 statements about it the latest holds since 2026-09-21 14:00:09.100" in none.err


def test_the_state_at_a_time_and_as_known_at_a_time(ask: Ask) -> None:
    early = ask("entity", RECORD, "--at", "2026-09-21T14:00:00Z")
    assert early.lines[0] == f"{RECORD} at 2026-09-21 14:00:00.000: 2 fields (times UTC)"
    assert [line.split()[:2] for line in early.lines[2:]] == [["owner", '"ops/night"'], ["status", '"open"']]
    assert [line.split()[:2] for line in ask("entity", RECORD, "--at", "now").lines[2:]] == [
        ["status", '"delay_notified"']
    ]
    # It held from 14:00:09, and arrived a minute later.
    known = ask("entity", RECORD, "--known-at", "2026-09-21T14:00:30Z")
    assert [line.split()[:2] for line in known.lines[2:]] == [["status", '"open"']]
    nothing = ask("entity", RECORD, "--at", "2026-09-20T00:00:00Z", "--exit-code")
    assert nothing.code == 1 and "had no known fields then" in nothing.err


def test_json_has_the_columns_of_the_views(ask: Ask) -> None:
    changes = [json.loads(line) for line in ask("entity", RECORD, "--json").lines]
    assert changes[-1]["new_value"] == "delay_notified" and changes[-1]["old_value"] == "open"
    assert changes[-1]["run_id"].startswith("4bf92f35") and "total" not in changes[-1]
    (state,) = [json.loads(line) for line in ask("entity", RECORD, "--at", "now", "--json").lines]
    assert (state["field"], state["value"], state["agent_name"]) == ("status", "delay_notified", "orla")
    assert "FROM entity_state(" in ask("entity", RECORD, "--at", "now", "--sql").out


def test_an_id_may_hold_slashes(ask: Ask) -> None:
    assert "cursor" in ask("entity", "pipeline/a/b").out
    assert ask("entity", "entity:pipeline/a%2Fb").out == ask("entity", "pipeline/a/b").out


def test_where_an_entity_came_from_is_found_as_lists_show_it(ask: Ask) -> None:
    said = ask("trace", "entity:pipeline/a/b")
    assert said.code == 0 and "entity:pipeline/a%2Fb" in said.lines[0]
    assert said.out == ask("trace", "entity:pipeline/a%2Fb").out
    assert "'entity:pipeline/a%2Fb'" in ask("trace", "entity:pipeline/a/b", "--sql").out
    unknown = ask("trace", "entity:pipeline/a/c")
    assert unknown.code == 2 and "nothing is known about entity:pipeline/a/c among 4 entities" in unknown.err
    assert unknown.err.splitlines()[1].split()[0] == "pipeline/a/b"


def test_what_is_not_known_names_the_nearest(ask: Ask) -> None:
    said = ask("entity", "record/C-1024")
    assert said.code == 2 and "nothing is known about record/C-1024 among 4 entities" in said.err
    assert said.err.splitlines()[1].strip() == "record/C-1042  4 statements"
    assert "give TYPE/ID, such as config/acme-config" in ask("entity", "acme").err
    assert ask("entity", "acme").code == 2
    both = ask("entity", RECORD, "--since", "1h", "--at", "now")
    assert both.code == 2 and "give --since, or --at and --known-at" in both.err


def test_without_any_run_the_way_to_one_is_reported(ask_empty: Ask) -> None:
    assert "No runs yet" in ask_empty("entity", RECORD).err


def test_without_an_entity_those_that_there_are_are_listed(ask: Ask) -> None:
    said = ask("entity")
    assert said.code == 0 and said.lines[0].split() == ["ENTITY", "FIELDS", "STATEMENTS", "RUNS", "LAST"]
    rows = [json.loads(line) for line in ask("entity", "--json").lines]
    assert {"record/C-1042"} <= {f"{row['entity_type']}/{row['entity_id']}" for row in rows}
    (found,) = [row for row in rows if row["entity_id"] == "C-1042"]
    assert (found["fields"], found["runs"]) == (2, 2) and "total" not in found
    assert len(said.lines) == len(rows) + 1
    cut = ask("entity", "-n", "1")
    assert len(cut.lines) == 2 and f"the latest 1 of {len(rows)} entities" in cut.err
    none = ask("entity", "--since", "2100-01-01T00:00:00Z", "--exit-code")
    assert none.code == 1 and "No agent has stated anything" in none.err
    assert ask("entity", "--at", "14:00").code == 2
    assert ask("sql", ask("entity", "--sql").out).code == 0


def test_without_runs_there_is_no_entity(ask_empty: Ask) -> None:
    assert "No runs yet" in ask_empty("entity").err
