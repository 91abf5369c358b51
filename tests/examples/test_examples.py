"""Each program of examples/, run as a user runs it against one real collector, gives the rows that it speaks of."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_collector import Served

TOP = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((TOP / "examples").glob("*.py"))


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("examples")
    served = Served(folder / "data", folder / "stderr.txt")
    yield served
    served.kill()


def play(collector: Served, *words: str, by: str = "python", **environ: str) -> str:
    """Run a program in a process of its own; return what it prints."""
    command = str(Path(sys.executable).with_name(by))
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "RETROSPAN_"))}
    done = subprocess.run(
        [command, *words],
        cwd=TOP,
        env={**kept, "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{collector.http}", **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def runs(collector: Served, agent: str, count: int) -> list[dict[str, Any]]:
    """Wait for the runs of an agent; return them in order."""
    ask = "SELECT * FROM runs WHERE agent_name = {agent:String} ORDER BY started_at"
    collector.until(lambda: len(collector.rows(ask, agent=agent)) == count)
    collector.wait_idle()
    return collector.rows(ask, agent=agent)


def of_run(collector: Served, query: str, run_id: str) -> list[dict[str, Any]]:
    return collector.rows(query, run=run_id)


def test_every_example_is_short_and_is_run_here() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    for file in EXAMPLES:
        lines = file.read_text(encoding="utf-8").splitlines()
        assert len(lines) < 80, file.name
        assert f"examples/{file.name}" in here


def test_steps(collector: Served) -> None:
    run_id = play(collector, "examples/steps.py").strip()
    (run,) = runs(collector, "support", 1)
    assert (run["run_id"], run["outcome"], run["run_kind"]) == (run_id, "ok", "demo")
    assert run["input"] == "Can I get a refund?"
    steps = of_run(
        collector,
        "SELECT task_step, task_step_name, task_steps_total, state_source, state_before, state_after "
        "FROM steps WHERE run_id = {run:String} ORDER BY step",
        run_id,
    )
    assert [(s["task_step"], s["task_step_name"], s["task_steps_total"]) for s in steps] == [
        (1, "search", 3),
        (2, "decide", 3),
        (3, "answer", 3),
    ]
    assert {s["state_source"] for s in steps} == {"explicit"}
    before, after = json.loads(steps[1]["state_before"]), json.loads(steps[1]["state_after"])
    assert (before["action"], after["action"]) == ("", "answer")
    (decision,) = of_run(collector, "SELECT * FROM decisions WHERE run_id = {run:String}", run_id)
    assert (decision["name"], decision["chosen"], decision["step"]) == ("next action", "answer", 2)
    (seen,) = of_run(collector, "SELECT * FROM observations WHERE run_id = {run:String}", run_id)
    assert (seen["entity_type"], seen["entity_id"], seen["field"]) == ("customer", "C-1042", "last_answer")
    assert json.loads(seen["value"]) == "Refunds are possible for 14 days."


@pytest.mark.long
def test_resume(collector: Served, tmp_path: Path) -> None:
    task = str(tmp_path / "task.json")
    assert "stopped" in play(collector, "examples/resume.py", "start", task)
    play(collector, "examples/resume.py", "resume", task)
    first, second = runs(collector, "pipeline", 2)
    assert (first["outcome"], second["outcome"]) == ("error", "ok")
    assert (second["parent_run_id"], second["parent_link"]) == (first["run_id"], "resumes")
    assert second["origin_run_id"] == first["origin_run_id"] == first["run_id"]
    ask = "SELECT task_step_name, status FROM steps WHERE run_id = {run:String} ORDER BY step"
    done = [[tuple(row.values()) for row in of_run(collector, ask, run["run_id"])] for run in (first, second)]
    assert done == [[("fetch", "ok"), ("transform", "error")], [("transform", "ok"), ("publish", "ok")]]
    ask = "SELECT checkpoint_id, parent_id FROM checkpoints WHERE run_id = {run:String} ORDER BY at"
    (one,) = of_run(collector, ask, first["run_id"])
    two, three = of_run(collector, ask, second["run_id"])
    assert [one["parent_id"], two["parent_id"], three["parent_id"]] == [
        None,
        one["checkpoint_id"],
        two["checkpoint_id"],
    ]


@pytest.mark.long
def test_crash(collector: Served, tmp_path: Path) -> None:
    """The agent is killed while nobody listens; what it said is delivered afterwards."""
    spool = str(tmp_path / "spool")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "RETROSPAN_"))}
    nowhere = {**kept, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    killed = subprocess.run(
        [sys.executable, "examples/crash.py", spool],
        cwd=TOP,
        env=nowhere,
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    play(collector, "spool", "send", spool, by="retrospan")
    (run,) = runs(collector, "watcher", 1)
    assert (run["outcome"], run["input"]) == ("killed", "Keep acme within its plan.")
    found = of_run(
        collector, "SELECT effect_status FROM effects WHERE run_id = {run:String} ORDER BY at", run["run_id"]
    )
    assert [row["effect_status"] for row in found] == ["executed", "unknown"]
    seen = of_run(
        collector,
        "SELECT value FROM observations WHERE run_id = {run:String} ORDER BY valid_from",
        run["run_id"],
    )
    assert [row["value"] for row in seen] == ["100", "100", "250", "250"]


@pytest.mark.long
def test_idempotent_tools(collector: Served) -> None:
    play(collector, "examples/idempotent_tools.py")
    (run,) = runs(collector, "billing", 1)
    found = of_run(
        collector,
        "SELECT tool_name, effect, effect_status, toUInt32(times_executed) AS times, problem, idempotency_key "
        "FROM effects WHERE run_id = {run:String} ORDER BY at",
        run["run_id"],
    )
    keys: dict[str, set[Any]] = {}
    for row in found:
        keys.setdefault(row["tool_name"], set()).add(row["idempotency_key"])
    assert {tool: len(own) for tool, own in keys.items()} == {"look_up": 1, "notify": 1, "charge": 1}
    assert keys["look_up"] == {None}
    by_tool = {
        tool: [(r["effect_status"], r["times"], r["problem"]) for r in found if r["tool_name"] == tool]
        for tool in keys
    }
    assert by_tool["charge"] == [("executed", 1, ""), ("skipped", 1, "")]
    assert by_tool["notify"] == [("executed", 2, "executed_twice")] * 2


@pytest.mark.long
def test_processes(collector: Served) -> None:
    run_id = play(collector, "examples/processes.py").strip()
    (run,) = runs(collector, "translator", 1)
    assert (run["run_id"], run["outcome"]) == (run_id, "ok")
    ask = "SELECT key, value FROM run_state(run_id = {run:String}, step = 0)"
    assert of_run(collector, ask, run_id) == [{"key": "translated", "value": "2"}]
    tools = of_run(
        collector, "SELECT arguments, idempotency_key FROM tool_calls WHERE run_id = {run:String}", run_id
    )
    assert sorted(row["arguments"] for row in tools) == ['{"page":1}', '{"page":2}']
    assert all(row["idempotency_key"].startswith(f"{run_id}:page ") for row in tools)
    services = of_run(
        collector, "SELECT DISTINCT service_name FROM spans WHERE run_id = {run:String}", run_id
    )
    assert len(services) == 2


@pytest.mark.long
def test_zero_code(collector: Served) -> None:
    said = play(
        collector,
        *(sys.executable, "examples/zero_code.py"),
        by="opentelemetry-instrument",
        OTEL_TRACES_EXPORTER="retrospan",
        OTEL_METRICS_EXPORTER="none",
        OTEL_LOGS_EXPORTER="none",
    )
    assert said == "It has 21 degrees in Paris.\n"
    (run,) = runs(collector, "weather", 1)
    assert (run["outcome"], run["tool_calls"]) == ("ok", 1)


@pytest.mark.long
def test_langgraph_agent(collector: Served) -> None:
    """The state before and after each node, and the checkpoint chain over an interrupt, its resume and a fork."""
    assert "bought a cup for 9" in play(collector, "examples/langgraph_agent.py")
    asked, resumed, fork = runs(collector, "shop", 3)
    assert asked["incomplete_because"] == "interrupted"
    assert (resumed["outcome"], fork["outcome"]) == ("ok", "ok")
    assert (resumed["parent_run_id"], resumed["parent_link"]) == (asked["run_id"], "resumes")
    assert (fork["parent_run_id"], fork["parent_link"]) == (resumed["run_id"], "forks")
    assert (resumed["origin_run_id"], fork["origin_run_id"]) == (asked["run_id"], fork["run_id"])
    assert {run["conversation_id"] for run in (asked, resumed, fork)} == {"order-7"}

    ask = (
        "SELECT step, step_kind, name, node, framework_step, state_source, state_before, state_after "
        "FROM steps WHERE run_id = {run:String} ORDER BY step"
    )
    steps = {run["run_id"]: of_run(collector, ask, run["run_id"]) for run in (asked, resumed, fork)}

    def states(run: dict[str, Any]) -> list[tuple[Any, ...]]:
        return [
            (s["name"], json.loads(s["state_before"]), s["state_after"] and json.loads(s["state_after"]))
            for s in steps[run["run_id"]]
        ]

    start: dict[str, Any] = {"item": "cup", "log": []}
    priced: dict[str, Any] = {"item": "cup", "price": 12, "log": ["looked up the price"]}
    said: dict[str, Any] = {**priced, "approved": "yes", "log": [*priced["log"], "a person said yes"]}
    bought = {**said, "log": [*said["log"], "bought a cup for 12"]}
    cheaper: dict[str, Any] = {**said, "price": 9}
    assert states(asked) == [("look_up", start, priced)]
    assert states(resumed) == [("ask", priced, said), ("buy", said, bought)]
    assert states(fork) == [("buy", cheaper, {**cheaper, "log": [*said["log"], "bought a cup for 9"]})]
    assert {s["state_source"] for own in steps.values() for s in own} == {"explicit"}

    # What run_state gives before the question is what the graph knew then, though the node never ended.
    rows = collector.rows(
        "SELECT key, value FROM run_state(run_id = {run:String}, step = 0)", run=asked["run_id"]
    )
    assert {row["key"]: json.loads(row["value"]) for row in rows} == priced

    ask = "SELECT checkpoint_id, parent_id, trigger, conversation_id FROM checkpoints WHERE run_id = {run:String} ORDER BY at"
    chains = {run["run_id"]: of_run(collector, ask, run["run_id"]) for run in (asked, resumed, fork)}
    assert [row["trigger"] for row in chains[asked["run_id"]]] == ["input", "loop", "loop"]
    known: set[str | None] = {None}
    for own in chains.values():
        for row in own:
            assert row["parent_id"] in known, "every parent was made before, in this run or an earlier one"
            known.add(row["checkpoint_id"])
    assert chains[resumed["run_id"]][0]["parent_id"] == chains[asked["run_id"]][-1]["checkpoint_id"]
    assert chains[fork["run_id"]][0]["trigger"] == "update"
    assert chains[fork["run_id"]][0]["parent_id"] == chains[resumed["run_id"]][0]["checkpoint_id"]
    (approval,) = of_run(
        collector,
        "SELECT decision, explanation FROM approvals WHERE run_id = {run:String}",
        resumed["run_id"],
    )
    assert approval["decision"] == "yes" and "Buy a cup for 12?" in approval["explanation"]
    problems = collector.rows("SELECT * FROM interpretation_problems")
    assert problems == []
