from __future__ import annotations

import json

import pytest
from fix_cli import Ask

from retrospan.ingest.cli.commands.diff import sentence
from retrospan.ingest.cli.terminal.values import MISSING, differing_paths
from retrospan.ingest.cli.views.reached import leading_to
from retrospan.ingest.cli.views.sides import from_first_difference

REFUND = "4bf92f3577b34da6a3ce929d0e0e4736"
HELD, ASKED = "7f3e91d0", "b83f51aa"


def test_the_chain_from_an_answer_to_the_users_words(ask: Ask) -> None:
    said = ask("trace", REFUND)
    assert said.code == 0
    assert said.lines[0].startswith("run 4bf92f35: its answer, message:")
    assert said.lines[1].startswith("└─ wasGeneratedBy 4bf92f35/3  model call 2")
    used = [line for line in said.lines if "used message:" in line]
    assert "user: Find the refund policy." in used[0]
    tool = next(place for place, line in enumerate(said.lines) if "tool: [" in line)
    assert "wasGeneratedBy 4bf92f35/2  search_docs(" in said.lines[tool + 1]
    assert "wasInformedBy 4bf92f35/1" in said.lines[tool + 2]


@pytest.mark.long
def test_every_reference_printed_can_be_asked_again(ask: Ask) -> None:
    words = {
        word for line in ask("trace", REFUND).lines for word in line.split() if word.startswith("message:")
    }
    assert len(words) == 4
    for word in words:
        assert ask("trace", word.rstrip(",")).code == 0
    assert ask("trace", f"step:{REFUND}/2").lines[0].startswith("4bf92f35/2")
    assert ask("trace", f"run:{REFUND}").out == ask("trace", REFUND).out


def test_down_goes_from_a_tool_to_the_answer(ask: Ask) -> None:
    said = ask("trace", f"{REFUND}/2", "--down")
    assert [line.strip("│├└─ ").split()[0] for line in said.lines[1:]] == [
        "wasGeneratedBy",
        "used",
        "wasGeneratedBy",
        "wasGeneratedBy",
    ]
    assert "assistant: Refunds are possible" in said.lines[3]
    assert "record/C-1042 status" in said.lines[4] and said.lines[4].endswith("(stated)")


def test_a_limited_depth_is_reported(ask: Ask) -> None:
    said = ask("trace", REFUND, "--depth", "2")
    assert "… goes on" in said.out
    assert "went deeper than shown: --depth 4" in said.err


def test_provenance_as_json(ask: Ask) -> None:
    rows = [json.loads(line) for line in ask("trace", REFUND, "--json").lines]
    assert rows[0]["depth"] == 0 and rows[0]["subject"] == f"run:{REFUND}"
    assert {row["evidence"] for row in rows[1:]} == {"matched"}
    assert rows[1]["at"].endswith("Z")


def test_unknown_references(ask: Ask) -> None:
    for flags in ((), ("--json",), ("--exit-code",)):
        said = ask("trace", "document:none", *flags)
        assert (said.code, said.out) == (2, "") and "nothing is known of document:none" in said.err
    assert ask("trace", "observation:none").code == 2
    beyond = ask("trace", f"{REFUND}/99")
    assert beyond.code == 2 and "run 4bf92f35 has no step 99: it has 3 steps." in beyond.err
    assert ask("trace", "message:ffffffff").code == 2
    assert ask("trace", "nosuchrun").code == 2


def test_two_runs_part_at_the_third_step(ask: Ask) -> None:
    said = ask("diff", HELD, ASKED)
    assert "times UTC" not in said.lines[1] and said.lines[2].endswith(" steps  times UTC")
    assert said.code == 0
    assert said.lines[0] == "The runs diverge at step 3: the same request, another answer.  cause: sampling"
    assert "  1-2     same (model orla, tool get_weather)" in said.lines
    changed = said.lines.index("~ 3       model orla")
    assert (
        said.lines[changed + 1].split()[:2] == ["answer", "A"] and "update_record" in said.lines[changed + 1]
    )
    assert said.lines[changed + 2].split()[0] == "B" and "send_email" in said.lines[changed + 2]
    called = next(place for place, line in enumerate(said.lines) if line.startswith("~ 4"))
    assert said.lines[called + 1].split()[:2] == ["tool", "A"] and "update_record(" in said.lines[called + 1]
    assert said.lines[called + 2].split()[0] == "B" and "send_email(" in said.lines[called + 2]
    state = next(place for place, line in enumerate(said.lines) if "state ship_today" in line)
    assert said.lines[state].endswith("A no") and said.lines[state + 1].endswith("B not set")
    assert said.lines[-1] == "2 of 5 positions equal"


@pytest.mark.long
def test_exit_codes_of_diff(ask: Ask) -> None:
    assert ask("diff", HELD, ASKED, "--exit-code").code == 1
    same = ask("diff", HELD, HELD, "--exit-code")
    assert same.code == 0
    assert (
        same.out == "identical: 5 steps, with equal calls, results, states and answers, ids in texts aside\n"
    )
    assert ask("diff", HELD, ASKED, "--aspect", "error", "--exit-code").code == 0
    assert ask("diff", HELD, ASKED, "--aspect", "state", "--exit-code").code == 1
    assert ask("diff", HELD, "nosuchrun").code == 2


def test_one_aspect_and_all_steps(ask: Ask) -> None:
    said = ask("diff", HELD, ASKED, "--aspect", "state")
    assert "4 of 5 positions equal in state" in said.out and "send_email(" not in said.out
    assert "  1       model orla  same" in ask("diff", HELD, ASKED, "--all").lines


def test_diff_as_json(ask: Ask) -> None:
    rows = [json.loads(line) for line in ask("diff", HELD, ASKED, "--json").lines]
    assert (
        rows[0]["view"] == "run_divergence"
        and rows[0]["cause"] == "sampling"
        and rows[0]["identical"] is False
    )
    assert {row["view"] for row in rows[1:]} == {"run_diff"}
    assert "same" not in {row["change"] for row in rows[1:]}


def test_runs_that_only_ended_otherwise_part_at_no_step() -> None:
    same = {"identical": False, "prefix": "none", "step_a": None, "step_b": None, "cause": "unknown"}
    ended = {**same, "aspect": "error", "value_a": "ok", "value_b": "error"}
    assert sentence(ended, 5, 5) == (
        "The runs differ in how they ended, A ok and B error: all 5 steps are equal.  cause: unknown"
    )
    asked = {**same, "cause": "input", "aspect": "prompt", "value_a": "Ship it?", "value_b": "Hold it?"}
    assert sentence(asked, 0, 0).startswith("The runs diverge at the start: ")


def test_an_incomplete_side_is_reported_first(ask: Ask) -> None:
    assert "! run d2209b6c is incomplete" in ask("diff", HELD, "d220").err


def test_a_long_equal_beginning_is_left_out_where_texts_differ() -> None:
    a, b = "x" * 300 + "one end", "x" * 300 + "another end"
    assert from_first_difference(a, b, 70, "…") == (
        "…" + "x" * 16 + "one end",
        "…" + "x" * 16 + "another end",
    )
    assert from_first_difference("short", "shorn", 70, "…") == ("short", "shorn")
    assert from_first_difference("ab" * 99, "ac" * 99, 70, "…") == ("ab" * 99, "ac" * 99)


def test_nested_values_differ_in_their_smallest_places() -> None:
    a: dict[str, object] = {"order": {"id": 1, "lines": [1, 2]}, "same": [{}]}
    b: dict[str, object] = {"order": {"id": 1, "lines": [1, 3, 4]}, "same": [{}], "new": None}
    assert differing_paths(a, b) == [
        ("order.lines[1]", 2, 3),
        ("order.lines[2]", MISSING, 4),
        ("new", MISSING, None),
    ]
    assert differing_paths(1, True) == [("", 1, True)]
    assert differing_paths(a, a) == []


def test_down_tells_the_runs_it_reached_and_can_be_cut_to_some_of_them(ask: Ask) -> None:
    runs = [json.loads(line) for line in ask("runs", "--json").lines]
    (refund,) = [run for run in runs if run["run_id"] == REFUND]
    whole = ask("trace", f"{REFUND}/2", "--down")
    chosen = ask("trace", f"{REFUND}/2", "--down", "--agent", refund["agent_name"])
    assert chosen.lines[0] == "reached 1 run; times UTC"
    assert f"agent {refund['agent_name']}" in chosen.lines[1]
    assert chosen.lines[2:] == whole.lines, "all of it lies in that run"
    none = ask("trace", f"{REFUND}/2", "--down", "--agent", "nobody", "--exit-code")
    assert none.code == 1 and none.lines == ["reached 0 runs", whole.lines[0]]
    late = ask("trace", f"{REFUND}/2", "--down", "--since", "2100-01-01", "--json")
    assert [json.loads(line)["depth"] for line in late.lines] == [0]


def _edge(depth: int, subject: str, found: str, run_id: str) -> dict[str, object]:
    return {"depth": depth, "subject": subject, "object": found, "run_id": run_id}


def test_what_leads_to_a_chosen_run_is_kept_with_the_way_there() -> None:
    rows = [
        _edge(0, "document:d", "document:d", ""),
        _edge(1, "step:a/1", "document:d", "a"),
        _edge(2, "observation:o", "step:a/1", "a"),
        _edge(3, "step:b/1", "observation:o", "b"),
        _edge(2, "message:m", "step:a/1", "a"),
        _edge(1, "step:c/1", "document:d", "c"),
    ]
    kept = leading_to(rows, [{"run_ids": ["b"]}], down=True)
    assert [row["subject"] for row in kept] == ["document:d", "step:a/1", "observation:o", "step:b/1"]
    assert leading_to(rows, [], down=True) == rows[:1]
    circle = [_edge(0, "x", "x", ""), _edge(1, "y", "x", "r"), _edge(2, "x", "y", "r")]
    assert leading_to(circle, [{"run_ids": ["r"]}], down=True) == circle
