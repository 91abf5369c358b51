from __future__ import annotations

import json
import time

import pytest
from fix_cli import CUT_SHORT, LOOP, Ask, Terminal, asking, run_in_terminal
from fix_collector import Served
from keeping import agent_run, linked_run, trace_of
from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from otlp_requests import logs, record

from retrospan.ingest.cli.client import pages
from retrospan.ingest.cli.client.collector_client import Parameter, Row
from retrospan.ingest.cli.client.session import Session
from retrospan.ingest.cli.views import remarks
from retrospan.ingest.cli.views.remarks import IN_A_ROW, VIEWS

REFUND = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_the_timeline_of_a_run(ask: Ask) -> None:
    said = ask("show", REFUND)
    assert said.code == 0
    assert said.lines[0] == f"run {REFUND}  orla 1.4.2  ok"
    assert "3 steps" in said.lines[1] and "300/40 tokens" in said.lines[1] and "times UTC" in said.lines[1]
    assert said.lines[2] == "  input   Find the refund policy."
    lines = said.lines
    observed = [lines.pop(7), lines.pop(5)]
    assert [line.split() for line in observed] == [
        ["observation", "record/C-1042", "status", "=", '"delay_notified"'],
        ["observation", "record/C-1042", "owner", "cleared"],
    ]
    steps = [line.split(maxsplit=4) for line in lines[4:7]]
    assert [step[:3] for step in steps] == [
        ["1", "model", "gpt-4o-mini"], ["2", "tool", "search_docs"], ["3", "model", "gpt-4o-mini"],
    ]  # fmt: skip
    assert steps[0][4].endswith('→ search_docs(query="refund policy", top_k=2)')
    assert '"text":"Goods may be returned' in steps[1][4]
    assert lines[7] == "  output  Refunds are possible within 30 days."


def test_a_pipe_gets_whole_values_and_a_terminal_their_length(ask: Ask, terminal: Terminal) -> None:
    assert "chars]" not in ask("show", REFUND).out
    assert "… [1,546 chars]" in terminal("show", REFUND, "--color", "never").out
    assert "chars]" not in terminal("show", REFUND, "--wide").out
    assert "chars]" not in terminal("show", REFUND, "--full", "--no-pager").out


@pytest.mark.long
def test_a_run_is_found_by_any_of_its_traces(module_served: Served) -> None:
    served = module_served
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
        "observations",
        "observations",
    ]
    tool = rows[6]
    assert tool["arguments"] == {"query": "refund policy", "top_k": 2} and tool["result"][0]["id"] == "kb-17"
    assert not [name for row in rows for name in row if name.endswith("_length")]
    rows = [json.loads(line) for line in ask("show", f"{REFUND}/1", "--json").lines]
    assert [row["view"] for row in rows] == ["steps", "model_calls", "messages", "messages", "observations"]
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


REMARKED = trace_of("remarked")


@pytest.fixture(scope="module")
def remarked(module_served: Served) -> Served:
    """A collector that has a run with a model call, an evaluation of its answer, and log records around it."""
    served, name = module_served, "remarked"
    trace_id, call = bytes.fromhex(trace_of(name)), b"\x02" * 8
    served.send(traces=[agent_run(name, "ok", said="Paris")])
    now = time.time_ns()
    judged: dict[str, object] = {
        "gen_ai.evaluation.name": "relevance",
        "gen_ai.evaluation.score.value": 0.5,
        "gen_ai.evaluation.score.label": "fair",
        "gen_ai.evaluation.explanation": "so so \x1b[31m" + "x" * 100_000,
        "gen_ai.evaluation.evaluator.name": "ragas",
    }
    started = record("", now - 60 * 10**9, trace_id=trace_id, body="starting\u202e up")
    started.severity_number = SeverityNumber.SEVERITY_NUMBER_WARN
    many = [record("", now + at, trace_id=trace_id, body=f"line {at}") for at in range(30)]
    fact = record(
        "retrospan.decision", now, {"retrospan.decision.name": "to go"}, trace_id=trace_id, span_id=call
    )
    served.send(
        logs=[
            logs(
                started,
                record("gen_ai.evaluation.result", now, judged, trace_id=trace_id, span_id=call),
                record(
                    "gen_ai.client.operation.exception", now, {"exception.type": "Timeout"}, trace_id=trace_id
                ),
                fact,
                *many,
            ).SerializeToString()
        ]
    )
    served.wait_idle()
    return served


def test_what_was_said_stands_between_the_steps(remarked: Served) -> None:
    lines = remarked.run("show", REMARKED).splitlines()
    lines = lines[[line.split()[0] for line in lines].index("STEP") + 1 :]
    assert [line.split()[0] for line in lines] == [
        *("log", "1", "decision", "evaluation", "log"),
        *["log"] * 30,
        "output",
    ]
    assert lines[0].endswith("WARN starting\\u202e up")
    (evaluation,) = [line for line in lines if line.split()[0] == "evaluation"]
    assert "relevance" in evaluation and "0.5 · fair · by ragas · so so \\x1b[31mxxx" in evaluation
    assert [line.split(maxsplit=2)[2] for line in lines if "gen_ai.client" in line] == ["Timeout"]
    assert "\x1b" not in "".join(lines)


def test_a_terminal_shows_so_many_remarks_in_a_row(remarked: Served) -> None:
    words = ["show", REMARKED, "--color", "never", "--no-pager"]
    said = run_in_terminal(words, f"http://{remarked.sql}").out
    rows = [line for line in said.splitlines() if line.split()[:1] in (["log"], ["evaluation"], ["decision"])]
    assert len(rows) == 1 + IN_A_ROW - 1
    assert f"{33 - IN_A_ROW + 1} more" in said
    assert max(map(len, said.splitlines())) <= 100


def test_what_was_said_as_json(remarked: Served) -> None:
    run_id = REMARKED
    rows = [json.loads(line) for line in remarked.run("show", run_id, "--json").splitlines()]
    of_views = [row["view"] for row in rows if row["view"] in VIEWS]
    assert of_views == ["decisions", "evaluations", *["logs"] * 34]
    (evaluation,) = [row for row in rows if row["view"] == "evaluations"]
    assert (evaluation["name"], evaluation["score"], evaluation["judge"]) == ("relevance", 0.5, "ragas")
    assert len(evaluation["explanation"]) == len("so so \x1b[31m") + 100_000
    assert rows[-1]["at"] > rows[-2]["at"]
    rows = [json.loads(line) for line in remarked.run("show", f"{run_id}/1", "--json").splitlines()]
    assert [row["view"] for row in rows if row["view"] in VIEWS] == [
        "decisions",
        "evaluations",
        *["logs"] * 2,
    ]
    assert "relevance" in remarked.run("show", f"{run_id}/1")
    assert "FROM logs" in remarked.run("show", run_id, "--sql")


def test_of_more_than_are_fetched_the_rest_is_named(
    remarked: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = REMARKED
    ask = asking(f"http://{remarked.sql}", monkeypatch, capsys)
    monkeypatch.setattr(remarks, "FETCHED", 5)
    said = ask("show", run_id, "--json")
    assert [row["view"] for row in map(json.loads, said.lines) if row["view"] in VIEWS][-5:] == ["logs"] * 5
    assert f"see all logs: retrospan sql \"SELECT * FROM logs WHERE run_id = '{run_id}'\"" in said.err
    for flags in ([], ["--full"]):
        said = ask("show", run_id, *flags)
        assert len([line for line in said.lines if line.split()[:1] == ["log"]]) == 3
        assert "more than 5 are there" in said.err


def test_nothing_is_asked_for_twice_and_nothing_that_is_not_there(
    remarked: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    ask = Session.ask

    def noted(self: Session, question: str, **parameters: Parameter) -> list[Row]:
        asked.append(question)
        return ask(self, question, **parameters)

    monkeypatch.setattr(Session, "ask", noted)
    assert asking(f"http://{remarked.sql}", monkeypatch, capsys)("show", REMARKED).code == 0
    assert len(asked) == len(set(asked))
    assert {name for name in asked if "remarks" in name} == {
        "count_remarks",
        "remarks_of_decisions",
        "remarks_of_evaluations",
        "show_log_remarks",
    }
    assert "is_run" not in asked
