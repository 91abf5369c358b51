"""A fork that changes the state: the agent begins at the step, with what was recorded there and one key of it replaced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from fix_collector import Served
from replay.conftest import Provider
from replay.recorded import AT, asks, model_call, text, tool_call
from replay.test_restored import PROGRAM, recorded

from retrospan.exporter.replay import Edits, initial_state, replay
from retrospan.exporter.replay.beginning import beginning
from retrospan.ingest.cli.commands.fork import checkpoint_before
from retrospan.schemas.bundle.canonical import with_keys
from retrospan.schemas.bundle.container import write_bundle
from retrospan.schemas.bundle.form import Bundle, CheckpointAt, RunRecord, StateAt
from retrospan.schemas.errors import ConfigError
from retrospan.schemas.replacing import NoSuchPart, replaced

BEFORE = {"price": 12, "customer": {"name": "Ann", "tier": "gold"}, "log": ["asked"]}
AFTER = {**BEFORE, "log": ["asked", "looked up"], "order": "A-17"}


def state_at(step: int, before: Any = BEFORE, after: Any = AFTER) -> StateAt:
    return StateAt(step=step, source="explicit", before=before, after=after)


def run(*states: StateAt) -> RunRecord:
    calls = (
        model_call(1, [text("user", "Look up.")], asks("call_1", "look_up", item="cup")),
        tool_call(2, "look_up", {"item": "cup"}, {"price": 12}, "call_1", effect="read"),
        model_call(3, [text("user", "Decide.")], text("assistant", "Buy it for 12.")),
    )
    return RunRecord(run_id="run-1", calls=with_keys(calls), states=states, dialects=("openinference",))


def bundle_of(*states: StateAt) -> Bundle:
    return Bundle(made_by="a test", rules=None, runs=(run(*states),))


def test_the_state_is_that_before_the_step_with_the_changes() -> None:
    found = beginning([run(state_at(2))], 2, {"price": 9, "customer.tier": "iron", "log.0": "x"})
    assert found.state == {"price": 9, "customer": {"name": "Ann", "tier": "iron"}, "log": ["x"]}
    assert found.first == 2
    assert BEFORE["price"] == 12, "the record stays as it is"
    # A step without a state of its own: what the last one before it left, and its steps are to be done.
    later = beginning([run(state_at(1))], 3, {"order": None})
    assert (later.state["order"], later.state["log"], later.first) == (None, ["asked", "looked up"], 2)
    # A key of the run that the state does not have yet at that step.
    assert beginning([run(state_at(2))], 2, {"order": "B-1"}).state["order"] == "B-1"


@pytest.mark.parametrize(
    ("states", "step", "changes", "said"),
    [
        ((state_at(2),), 2, {"prize": 9}, "state has no key 'prize' in this run; it has price, customer, log, order. Did you mean state.price?"),
        ((state_at(2),), 2, {"customer.teir": 9}, "Did you mean state.customer.tier?"),
        ((state_at(2),), 2, {"price.net": 9}, "state.price has no key 'net' in this run; it has no keys at all."),
        ((state_at(2),), 2, {"log.7": 9}, "state.log has no key '7'"),
        ((state_at(2),), 1, {"price": 9}, "the state at step 1 is not on record; that of these steps is: 2."),
        ((), 2, {"price": 9}, "run run-1 has no states on record"),
        ((state_at(2, {"price": "[redacted:card]", "log": []}),), 2, {"log": ["x"]}, "state.price was redacted"),
        ((state_at(2, {"price": 1, "log": {"$cut": {"bytes": 9}}}),), 2, {"price": 9}, "state.log was cut for its size"),
    ],
)  # fmt: skip
def test_what_cannot_be_set_says_why(
    states: tuple[StateAt, ...], step: int, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        beginning([run(*states)], step, changes)
    assert said in str(caught.value)


def test_a_redacted_value_may_be_given() -> None:
    held = state_at(2, {"price": 1, "mail": "[redacted:email]"})
    assert beginning([run(held)], 2, {"mail": "a@b.example"}).state["mail"] == "a@b.example"


def test_a_state_is_of_one_run() -> None:
    with pytest.raises(ConfigError, match="a state is set of one run, and these are 2"):
        beginning([run(state_at(2)), run(state_at(2))], 2, {"price": 9})


@dataclass
class Order:
    price: int
    customer: dict[str, str]
    log: list[str]


def test_plain_code_begins_with_the_state_and_what_went_before_is_over() -> None:
    assert initial_state({"price": 1}) == {"price": 1}, "outside a fork: its own"
    with replay(bundle_of(state_at(2))):
        assert initial_state({"price": 1}) == {"price": 1}
    edits = Edits(state={"price": 9})
    with replay(bundle_of(state_at(3)), mode="edit", until=3, edits=edits, run="run-1") as r:
        assert initial_state({"price": 1}) == {**BEFORE, "price": 9}
        assert initial_state(Order(1, {}, [])) == Order(9, {"name": "Ann", "tier": "gold"}, ["asked"])
        assert initial_state([("x", 1)], make=lambda state: [*state.items()])[0] == ("price", 9)
        with pytest.raises(ConfigError, match="make="):
            initial_state(3)
    assert (r.report.verdict, r.report.left, r.report.state_step) == ("live", 0, 3)
    assert "test_fork_state" in r.report.state_to
    said = r.report.lines()
    assert said[0].startswith("live: 0 of 1 model calls and 0 of 1 tool calls")
    assert said[1].startswith("  state.price: set in the state that ") and said[1].endswith("at step 3")


def test_what_lies_between_the_state_and_the_step_is_answered(provider: Provider) -> None:
    import httpx

    def ask(content: str) -> str:
        body = {"model": "gpt-4o-mini", "messages": [{"role": "system", "content": "You are Orla."},
                {"role": "user", "content": content}]}  # fmt: skip
        reply = httpx.post(f"{provider.url}/chat/completions", json=body)
        return str(reply.json()["choices"][0]["message"]["content"])

    edits = Edits(state={"price": 9})
    held = bundle_of(state_at(2))
    with replay(held, mode="edit", until=4, edits=edits, hosts=[provider.host]) as r:
        initial_state({})
        assert ask("Decide.") == "Buy it for 12.", "step 3 is after the state, and before the fork"
        assert ask("Look up.") == "said live", "step 1 is over"
    assert (r.report.answered, len(r.report.live), len(provider.asked)) == ([3], 1, 1)


def test_an_agent_that_never_asks_is_told_of() -> None:
    with replay(bundle_of(state_at(2)), mode="edit", until=2, edits=Edits(state={"price": 9})) as r:
        pass
    assert r.report.is_state_unused
    assert "state.price: not set, as the agent never asked for its state" in "\n".join(r.report.lines())


AGENT = """
from retrospan.exporter.replay import initial_state
state = initial_state({"price": 1})
print("the price is", state["price"])
"""


def fork(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "RETROSPAN_"))}
    return subprocess.run(
        [sys.executable, "-m", "retrospan.ingest.cli.main", "fork", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**kept, "NO_COLOR": "1", **environ},
    )


def test_the_command_sets_it_and_says_what_became_of_it(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "deaf.py").write_text("print('never asked')")
    write_bundle(tmp_path / "run.bundle", bundle_of(state_at(2)))
    write_bundle(tmp_path / "bare.bundle", bundle_of())
    words = ("run.bundle", "--step", "2", "--set", "state.price=9", "--set", "state.customer.name=Bo")
    done = fork(tmp_path, *words, "--", sys.executable, "agent.py")
    assert (done.returncode, done.stdout.strip()) == (0, "the price is 9"), done.stderr
    assert "state.price, state.customer.name: set in the state that" in done.stderr
    done = fork(tmp_path, *words, "--json", "--", sys.executable, "deaf.py")
    report = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, report["state_to"], report["exit_code"]) == (1, None, 0)
    done = fork(tmp_path, *words, "--", sys.executable, "deaf.py")
    assert "the agent never asked for its state" in done.stderr
    for file, key, why in (
        ("run.bundle", "state.prize", "Did you mean state.price?"),
        ("bare.bundle", "state.price", "To record them: "),
    ):
        done = fork(tmp_path, file, "--step", "2", "--set", f"{key}=9", "--", sys.executable, "deaf.py")
        assert (done.returncode, done.stdout) == (2, "") and why in done.stderr


def test_the_checkpoint_is_the_last_one_before_the_step() -> None:
    def at(id: str, step: int | None, parent: str | None) -> CheckpointAt:
        return CheckpointAt(checkpoint_id=id, parent_id=parent, step=step, trigger="loop", at=AT)

    held = (at("a", None, None), at("b", 1, "a"), at("inner", 2, "x"), at("c", 3, "b"))
    whole = replace(run(), checkpoints=held)
    assert [checkpoint_before(whole, step, {"inner"}) for step in (1, 2, 3, 4)] == [
        ("a", 1),
        ("b", 2),
        ("b", 2),
        ("c", 4),
    ]
    resumed = replace(run(), checkpoints=(at("d", 1, "c"),))
    assert checkpoint_before(resumed, 1) == ("c", 1)
    assert checkpoint_before(run(), 1) is None


def test_parts_of_objects_are_replaced_in_their_kind() -> None:
    order = Order(12, {"name": "Ann"}, [])
    assert replaced({"order": order}, ["order", "price"], 9) == {"order": Order(9, {"name": "Ann"}, [])}
    assert order.price == 12
    assert replaced({"seen": {"a"}}, ["seen"], ["b", "b"]) == {"seen": {"b"}}
    assert replaced(None, ["a", "b"], 1) == {"a": {"b": 1}}
    assert replaced(order, [], {"price": 1, "customer": {}, "log": []}) == Order(1, {}, [])
    for value, path in ((order, ["prize"]), ([1], ["1"]), ([1], ["x"]), (3, ["real"]), (order, ["__dict__"])):
        with pytest.raises(NoSuchPart):
            replaced(value, path, 1)


@pytest.mark.long
def test_a_class_of_the_program_is_called_if_it_is_named(module_served: Served, tmp_path: Path) -> None:
    original, (parent,) = recorded(module_served, "class")
    there = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{module_served.http}",
        "RETROSPAN_URL": f"http://{module_served.sql}",
    }
    words = (parent, "--step", "4", "--set", "state.offer.price=9")
    program = ("--", sys.executable, str(PROGRAM), "record", "class")
    refused = fork(tmp_path, *words, *program, **there)
    assert refused.returncode == 1 and "retrospan fork --type __main__:Offer" in refused.stderr
    done = fork(tmp_path, *words, "--type", "__main__:Offer", *program, **there)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["end"]["offer"] == "Offer Offer(price=9)" and found["ran"] == ["buy"]
    assert original["end"]["offer"] == "Offer Offer(price=12)"
    wrong = fork(tmp_path, *words, "--type", "Offer", *program, **there)
    assert wrong.returncode == 2 and "--type Offer: write MODULE:CLASS" in wrong.stderr


@pytest.mark.long
def test_a_graph_goes_on_from_the_step_with_the_change(module_served: Served, tmp_path: Path) -> None:
    original, (parent,) = recorded(module_served, "fork")
    there = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{module_served.http}",
        "RETROSPAN_URL": f"http://{module_served.sql}",
    }
    program = ("--", sys.executable, str(PROGRAM), "record", "fork")

    def forked(step: int, *changes: str, **environ: str) -> dict[str, Any]:
        words = [word for change in changes for word in ("--set", change)]
        done = fork(tmp_path, parent, "--step", str(step), *words, *program, **there, **environ)
        assert done.returncode == 0, done.stderr
        assert "set in the state that the graph shop began with" in done.stderr
        return dict(json.loads(done.stdout))

    found = forked(4, "state.price=9", "state.messages.0.content=Two cups", 'state.seen=["web"]')
    assert found["ran"] == ["buy"], "what went before is not done again"
    assert found["end"]["log"][:3] == original["end"]["log"][:3]
    assert found["end"]["log"][3] == "bought cup for 9 (None), ['web']"
    assert "Two cups" in found["end"]["messages"][0]
    module_served.wait_idle()
    (child,) = module_served.rows(
        "SELECT run_id, parent_link, fork_step, patch FROM runs WHERE parent_run_id = {run:String}",
        run=parent,
    )
    assert (child["parent_link"], child["fork_step"]) == ("forks", 4)
    changed = {"price": 9, "messages.0.content": "Two cups", "seen": ["web"]}
    assert json.loads(child["patch"]) == {"state": changed}
    asked = "SELECT step_a, step_b, change, detail FROM run_diff(a = {a:String}, b = {b:String}) ORDER BY position"
    beside = module_served.rows(asked, a=parent, b=child["run_id"])
    assert [(row["step_a"], row["step_b"], row["change"], row["detail"]) for row in beside] == [
        *((step, None, "same", "inherited") for step in (1, 2, 3)),
        (4, 1, "changed", "messages, price, seen"),
    ]
    # The same from a file, with nobody to ask; without the contents of checkpoints the graph asks for nothing.
    for flags, code in ((("--checkpoints",), 0), ((), 1)):
        words = ("bundle", parent, *flags, "--out", "run.bundle")
        done = subprocess.run(
            [sys.executable, "-m", "retrospan.ingest.cli.main", *words],
            cwd=tmp_path, env={**os.environ, **there}, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        nobody = {**there, "RETROSPAN_URL": "http://127.0.0.1:9"}
        done = fork(tmp_path, "run.bundle", "--step", "4", "--set", "state.price=9", *program, **nobody)
        assert done.returncode == code, done.stderr
        if code == 0:
            assert json.loads(done.stdout)["end"]["log"][3] == "bought cup for 9 (None), ['shop']"
        else:
            assert "not set, as the agent never asked for its state" in done.stderr
    # A list under a reducer is replaced, not added to; both nodes of the superstep run again.
    found = forked(3, 'state.log=["anew"]')
    assert sorted(found["ran"]) == ["buy", "check", "reserve"]
    assert found["end"]["log"][0] == "anew" and "looked up" not in found["end"]["log"]
    assert forked(4, "state.price=9", ASYNC="1")["end"]["log"][3].startswith("bought cup for 9")
    done = fork(tmp_path, parent, "--step", "4", "--set", "state.prize=9", *program, **there)
    assert (done.returncode, done.stdout) == (2, "") and "Did you mean state.price?" in done.stderr


@pytest.mark.long
def test_a_channel_that_is_kept_as_changes_is_replaced_too(module_served: Served, tmp_path: Path) -> None:
    original, (parent,) = recorded(module_served, "delta")
    there = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{module_served.http}",
        "RETROSPAN_URL": f"http://{module_served.sql}",
    }
    program = ("--", sys.executable, str(PROGRAM), "record", "delta")

    def forked(step: int, change: str) -> dict[str, Any]:
        done = fork(tmp_path, parent, "--step", str(step), "--set", change, *program, **there)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    before = original["end"]["log"]
    assert sorted(before[:3]) == sorted(["looked up", "reserved", "checked 12"])
    # Another key: what was kept as changes is there as it was at the step, and nothing of what came after it.
    found = forked(4, "state.price=9")
    assert found["ran"] == ["buy"]
    assert found["end"]["log"][:3] == before[:3] and found["end"]["log"][3].startswith("bought cup for 9")
    assert len(found["end"]["log"]) == len(before)
    found = forked(3, "state.price=9")
    assert found["end"]["log"][0] == "looked up" and len(found["end"]["log"]) == len(before)
    assert "checked 9" in found["end"]["log"] and "checked 12" not in found["end"]["log"]
    # The channel itself, as a whole and in part.
    found = forked(4, 'state.log=["anew"]')
    assert found["end"]["log"][0] == "anew" and len(found["end"]["log"]) == 3
    found = forked(4, "state.log.0=asked first")
    assert found["end"]["log"][:3] == ["asked first", *before[1:3]]


SENDING = """
import operator
from typing import Annotated, TypedDict
from retrospan.exporter import instrument
made = instrument(service_name="sending")
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

class State(TypedDict, total=False):
    items: list
    factor: int
    done: Annotated[list, operator.add]

def fan(state):
    return [Send("work", {"item": item, "factor": state["factor"]}) for item in state["items"]]

graph = StateGraph(State)
graph.add_node("plan", lambda state: {"factor": state.get("factor", 2)})
graph.add_node("work", lambda given: {"done": [given["item"] * given["factor"]]})
graph.add_edge(START, "plan")
graph.add_conditional_edges("plan", fan, ["work"])
graph.add_edge("work", END)
thread = {"configurable": {"thread_id": "t"}}
print(graph.compile(checkpointer=InMemorySaver()).invoke({"items": [1, 2]}, thread)["done"])
assert made.flush(20)
"""


@pytest.mark.long
def test_what_was_sent_to_a_node_is_not_reached_and_is_told(module_served: Served, tmp_path: Path) -> None:
    (tmp_path / "sending.py").write_text(SENDING)
    there = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{module_served.http}",
        "RETROSPAN_URL": f"http://{module_served.sql}",
    }
    program = (sys.executable, "sending.py")
    subprocess.run(program, cwd=tmp_path, env={**os.environ, **there}, timeout=60, check=True)
    module_served.wait_idle()
    asked = "SELECT run_id FROM runs WHERE service_name = 'sending'"
    (row,) = module_served.rows(asked)
    done = fork(tmp_path, row["run_id"], "--step", "2", "--set", "state.factor=10", "--", *program, **there)
    assert done.stdout.strip() == "[2, 4]"
    assert "Begun there with what was sent to it, which the change does not reach: work." in done.stderr
    done = fork(tmp_path, row["run_id"], "--step", "1", "--set", "state.items=[5]", "--", *program, **there)
    assert done.stdout.strip() == "[10]" and "which the change does not reach" not in done.stderr
