from __future__ import annotations

import json

import pytest
from fix_cli import CUT_SHORT, LOOP, Ask, Terminal
from fix_collector import Served
from keeping import agent_run, linked_run, trace_of

from retrospan.ingest.cli.client import pages

REFUND = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_the_timeline_of_a_run(ask: Ask) -> None:
    said = ask("show", REFUND)
    assert said.code == 0
    assert said.lines[0] == f"run {REFUND}  orla 1.4.2  ok"
    assert "3 steps" in said.lines[1] and "300/40 tokens" in said.lines[1] and "times UTC" in said.lines[1]
    assert said.lines[2] == "  input   Find the refund policy."
    steps = [line.split(maxsplit=4) for line in said.lines[4:7]]
    assert [step[:3] for step in steps] == [
        ["1", "model", "gpt-4o-mini"], ["2", "tool", "search_docs"], ["3", "model", "gpt-4o-mini"],
    ]  # fmt: skip
    assert steps[0][4].endswith('→ search_docs(query="refund policy", top_k=2)')
    assert '"text":"Goods may be returned' in steps[1][4]
    assert said.lines[7] == "  output  Refunds are possible within 30 days."


def test_a_pipe_gets_whole_values_and_a_terminal_their_length(ask: Ask, terminal: Terminal) -> None:
    assert "chars]" not in ask("show", REFUND).out
    assert "… [1,546 chars]" in terminal("show", REFUND, "--color", "never").out
    assert "chars]" not in terminal("show", REFUND, "--wide").out
    assert "chars]" not in terminal("show", REFUND, "--full", "--no-pager").out


def test_a_run_is_found_by_any_of_its_traces(served: Served) -> None:
    served.send(traces=[agent_run("first", "ok"), linked_run("later", "first", "continues")])
    served.wait_idle()
    later = trace_of("later")
    for typed in (later, later[:10], later.upper()):
        assert served.run("show", typed).splitlines()[0].startswith(f"run {trace_of('first')}  ")
    held = json.loads(served.run("hold", later, "--json"))
    assert held["run"] == trace_of("first")


def test_a_run_that_is_incomplete_says_so_first(ask: Ask) -> None:
    said = ask("show", "d220")
    assert said.code == 0
    assert said.err == ("! run d2209b6c is incomplete: its root span never arrived. Steps may be missing.\n")
    assert "! error ToolError: connection reset" in said.out


def test_a_run_that_may_be_misread_says_so_in_one_line(ask: Ask) -> None:
    (line,) = [line for line in ask("show", LOOP).lines if "problem" in line]
    said, _, command = line.partition(" · ")
    assert said == (
        "  doubts  3 problems: the answer ended for tool calls, and none is read in it (finish_reasons)"
    )
    assert command == f"retrospan sql \"SELECT * FROM interpretation_problems WHERE run_id = '{LOOP}'\""
    assert "problem" not in ask("show", REFUND).out


def test_a_call_without_an_execution_stands_after_the_one_that_asked(ask: Ask) -> None:
    lines = ask("show", "d220").lines
    assert lines[6].split()[:3] == ["3", "model", "gpt-4o-mini"]
    assert lines[7].split()[:3] == ["-", "tool", "get_weather"] and "! incomplete" in lines[7]


def test_one_step_of_a_model(ask: Ask) -> None:
    said = ask("show", f"{REFUND}/3")
    assert said.lines[0].startswith(
        "4bf92f35/3  model gpt-4o-mini  2026-09-21 14:00:09.200  10ms  200/20 tokens"
    )
    assert "system    You are orla." in said.out
    assert "user      Find the refund policy." in said.out
    assert "answer    Refunds are possible within 30 days." in said.out


def test_a_terminal_shows_only_what_is_new_in_a_call(terminal: Terminal) -> None:
    said = terminal("show", f"{REFUND}/3", "--color", "never")
    assert "2 messages already given to earlier calls (--full)" in said.out
    assert "Find the refund policy." not in said.out


def test_one_step_of_a_tool(ask: Ask) -> None:
    said = ask("show", f"{REFUND}/2")
    assert 'arguments {"query":"refund policy","top_k":2}' in said.out
    assert 'result    [{"id":"kb-17"' in said.out
    assert "not recorded" in ask("show", "d220/2").out


def test_steps_and_calls_as_json(ask: Ask) -> None:
    rows = [json.loads(line) for line in ask("show", REFUND, "--json").lines]
    assert [row["view"] for row in rows] == [
        "runs",
        "steps",
        "steps",
        "steps",
        "model_calls",
        "model_calls",
        "tool_calls",
    ]
    tool = rows[-1]
    assert tool["arguments"] == {"query": "refund policy", "top_k": 2} and tool["result"][0]["id"] == "kb-17"
    assert not [name for row in rows for name in row if name.endswith("_length")]
    rows = [json.loads(line) for line in ask("show", f"{REFUND}/1", "--json").lines]
    assert [row["view"] for row in rows] == ["steps", "model_calls", "messages", "messages"]
    assert rows[2]["content"]["role"] == "user"


@pytest.mark.parametrize("run", [REFUND, CUT_SHORT])
@pytest.mark.parametrize("flags", [[], ["--json"], ["--full"]], ids=["lines", "json", "full"])
def test_a_run_is_the_same_in_pages_of_any_size(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, run: str, flags: list[str]
) -> None:
    def shown() -> list[list[str]]:
        return [line.split() for line in ask("show", run, *flags).lines]

    expected = shown()
    for steps in (1, 2):
        monkeypatch.setattr(pages, "STEPS", steps)
        assert shown() == expected


def test_the_last_run_is_the_one_that_arrived_last(ask: Ask) -> None:
    assert ask("show", "last").lines[0].startswith(f"run {REFUND}")


def test_run_ids_with_slashes(ask: Ask) -> None:
    assert ask("show", "batch/12").lines[0].startswith("run batch/12  nightly")
    assert ask("show", "batch/12/1").lines[0].startswith("batch/12/1  tool sync")
    assert ask("show", "batch/13").code == 2


def test_unknown_ambiguous_and_short_ids(ask: Ask) -> None:
    said = ask("show", "4bf8aaaa")
    assert said.code == 2 and said.out == ""
    assert said.err.startswith("error: no run starts with '4bf8aaaa' among 8 runs in 127.0.0.1:")
    assert "4bf92f35aaaaaaaaa3ce929d0e0e4736  milo  ok" in said.err
    said = ask("show", "4bf92f35")
    assert said.code == 2
    assert f"{REFUND}  orla" in said.err and "4bf92f35aaaaaaaaa3ce929d0e0e4736  milo" in said.err
    assert "4 or more characters" in ask("show", "4bf").err
    assert ask("show", REFUND.upper()).code == 0
    said = ask("show", f"{REFUND}/4")
    assert said.code == 2 and "has no step 4: it has 3 steps" in said.err
    assert ask("show", "").code == 2
