"""Threads of LangGraph restored by another process from the warehouse alone, at each step, go on to the same end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fix_collector import Served

PROGRAM = Path(__file__).with_name("restored_shop.py")


def play(served: Served, *words: str, **environ: str) -> Any:
    """Run the program in a process of its own; return what it prints."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "RETROSPAN_"))}
    there = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{served.http}", "RETROSPAN_URL": f"http://{served.sql}"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *words],
        env={**kept, **there, **environ},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def recorded(served: Served, scenario: str, **environ: str) -> tuple[dict[str, Any], list[str]]:
    """Record a scenario; return its end and the ids of its runs, in order."""
    served.wait_idle()
    known = {row["run_id"] for row in served.rows("SELECT run_id FROM runs")}
    end = play(served, "record", scenario, **environ)
    served.wait_idle()
    rows = served.rows("SELECT run_id FROM runs ORDER BY started_at")
    return end, [row["run_id"] for row in rows if row["run_id"] not in known]


def restored(served: Served, *words: str) -> list[dict[str, Any]]:
    return list(play(served, "restore", *words))


@pytest.mark.soak
def test_a_finished_thread_goes_on_from_each_of_its_steps(module_served: Served) -> None:
    original, (run,) = recorded(module_served, "fork")
    found = restored(module_served, "fork", run, "-1,0,1,2,3,last")
    assert [each.get("error") for each in found] == [None] * 6, found
    assert [each["end"] for each in found] == [original["end"]] * 6
    assert [each["next"] for each in found] == [
        ["__start__"],
        ["look_up"],
        *([["reserve", "check"]] if found[2]["next"][0] == "reserve" else [["check", "reserve"]]),
        ["buy"],
        [],
        [],
    ]
    assert sorted(found[1]["ran"]) == ["buy", "check", "look_up", "reserve"]
    assert sorted(found[2]["ran"]) == ["buy", "check", "reserve"], "what was done of the step is done again"
    assert (found[3]["ran"], found[4]["ran"]) == (["buy"], [])


@pytest.mark.long
def test_a_fork_has_another_end_and_names_its_parent(module_served: Served) -> None:
    original, (run,) = recorded(module_served, "fork")
    checkpoints = "SELECT checkpoint_id FROM checkpoints WHERE run_id = {run:String} ORDER BY checkpoint_id"
    before = module_served.rows(checkpoints, run=run)
    (fork,) = restored(module_served, "fork", run, "1", "price=9")
    assert fork["end"]["log"] == [each.replace("12", "9") for each in original["end"]["log"]]
    assert fork["end"] != original["end"]
    module_served.wait_idle()
    children = "SELECT run_id, parent_link, fork_step, patch FROM runs WHERE parent_run_id = {run:String}"
    (child,) = module_served.rows(children, run=run)
    assert child["parent_link"] == "forks" and child["fork_step"] == 1
    assert json.loads(child["patch"]) == [{"op": "replace", "path": "/price", "value": 9}]
    assert module_served.rows(checkpoints, run=run) == before, "nothing is added to the run that was restored"
    # The fork is a run of its own, and can itself be restored, also where it began.
    again = restored(module_served, "fork", child["run_id"], "2,3")
    assert [each["end"] for each in again] == [fork["end"]] * 2
    assert [sorted(each["ran"]) for each in again] == [["buy", "check", "reserve"], ["buy"]]


@pytest.mark.long
def test_a_thread_that_waits_is_answered_in_another_process(module_served: Served) -> None:
    original, (first, second) = recorded(module_served, "interrupt")
    found = restored(module_served, "interrupt", first, "-1,0,1,2,last", "yes")
    assert [each["end"] for each in found] == [original["end"]] * 5, found
    question = {"buy": "cup", "for": 12}
    assert [each["asked"] for each in found] == [[], [], [], [question], [question]]
    assert found[3]["ran"] == ["ask", "buy"]
    (refused,) = restored(module_served, "interrupt", first, "last", "no")
    assert "a person said no" in refused["end"]["log"] and refused["end"]["approved"] == "no"
    later = restored(module_served, "interrupt", second, "2,3,4", "yes")
    assert [each["end"] for each in later] == [original["end"]] * 3
    assert later[0]["asked"] == [question], "a run that answers can be restored before its answer"
    assert [each["ran"] for each in later] == [["ask", "buy"], ["buy"], []]


@pytest.mark.soak
def test_a_graph_inside_goes_on_where_it_waits(module_served: Served) -> None:
    original, (first, _) = recorded(module_served, "nested")
    (found,) = restored(module_served, "nested", first, "last", "yes")
    assert found["end"] == original["end"]
    assert found["asked"] == [{"for": 13}]


@pytest.mark.soak
def test_what_was_done_of_a_step_that_failed_is_not_done_again(module_served: Served) -> None:
    _, (run,) = recorded(module_served, "failed")
    (found,) = restored(module_served, "fork", run, "last")
    assert found["ran"] == ["check", "buy"], "the node beside it had ended"
    assert sorted(found["end"]["log"][:3]) == ["checked 12", "looked up", "reserved"]


@pytest.mark.soak
def test_a_class_of_the_program_is_called_only_on_request(module_served: Served) -> None:
    original, (run,) = recorded(module_served, "class")
    (refused,) = restored(module_served, "class", run, "2")
    assert refused["error"] == "NotRestorable" and "types=[('__main__', 'Offer')]" in refused["says"]
    (found,) = restored(module_served, "class", run, "2", "types")
    assert found["end"] == original["end"]


@pytest.mark.soak
def test_a_stock_exporter_carries_what_is_needed(module_served: Served) -> None:
    original, (run,) = recorded(module_served, "fork", STOCK="1")
    assert module_served.rows("SELECT * FROM logs WHERE run_id = {run:String}", run=run) == []
    found = restored(module_served, "fork", run, "0,2")
    assert [each["end"] for each in found] == [original["end"]] * 2


@pytest.mark.soak
def test_what_cannot_be_restored_says_why_and_what_to_do(module_served: Served) -> None:
    _, (run,) = recorded(module_served, "fork")
    problems = "SELECT * FROM interpretation_problems WHERE run_id = {run:String}"
    assert module_served.rows(problems, run=run) == []
    (found,) = restored(module_served, "fork", run, "9")
    assert found["error"] == "NotFound"
    assert f"run {run} has no checkpoint of step 9; it has steps -1, 0, 1, 2, 3" in found["says"]
    (found,) = restored(module_served, "fork", "0" * 32, "1")
    assert "there is no run '00000000" in found["says"] and "retrospan runs" in found["says"]
    (found,) = restored(module_served, "fork", "", "1", "", "order-8")
    assert "no run of the thread 'order-8'" in found["says"]
    (found,) = restored(module_served, "fork", run, "1", "", "order-8")
    assert "has no thread 'order-8'; it has order-7" in found["says"]
    _, (cut,) = recorded(module_served, "fork", RETROSPAN_VALUE_LIMIT_BYTES="1024")
    (found,) = restored(module_served, "fork", cut, "2")
    assert found["error"] == "NotRestorable" and "cut" in found["says"]
    _, (redacted,) = recorded(module_served, "secret", RETROSPAN_EXPORTER_REDACTION="secrets")
    (found,) = restored(module_served, "secret", redacted, "2")
    assert found["error"] == "NotRestorable", found
    assert "the channel 'messages' was redacted" in found["says"] and "AKIA" not in found["says"]
