"""`retrospan cost`: what models cost, of all runs and of one."""

from __future__ import annotations

import json

import pytest
from fix_cli import HOSTILE, LOOP, REFUND, Ask

from retrospan.ingest.cli.commands.cost import WAYS, why_unpriced
from retrospan.ingest.cli.views.money import money


@pytest.mark.parametrize("by", WAYS)
def test_cost_of_all_runs(ask: Ask, by: str) -> None:
    said = ask("cost", "--by", by)
    assert said.code == 0 and said.out, said
    rows = [json.loads(line) for line in ask("cost", "--by", by, "--json").lines]
    if by == "tool":
        assert {row["view"] for row in rows} == {"prompt_shares"}
        assert next(row for row in rows if row["what"] == "search_docs")["prompts"] >= 1
        assert "estimated by length" in said.err
    else:
        assert sum(row["model_calls"] for row in rows) > 5 and {row["currency"] for row in rows} >= {"USD"}
        assert f"cost by {by}" in said.err
    assert ask("cost", "--by", by, "-n", "1").code == 0


def test_ways_of_grouping_come_to_the_same(ask: Ask) -> None:
    sums = set()
    for by in WAYS[:-1]:
        rows = [json.loads(line) for line in ask("cost", "--by", by, "--json").lines]
        cost = sum(row["cost"] or 0 for row in rows)
        sums.add(
            (f"{cost:.12f}", sum(row["tokens"] or 0 for row in rows), sum(row["unpriced"] for row in rows))
        )
    assert len(sums) == 1


def test_cost_of_a_run_as_on_an_invoice(ask: Ask) -> None:
    said = ask("cost", REFUND)
    # 300 tokens at 0.15 and 40 at 0.60, of a million
    assert said.code == 0 and said.lines[0].split() == ["4bf92f35", "0.000069", "USD"]
    assert [line.split() for line in said.lines[2:4]] == [
        ["gpt-4o-mini-2024", "input", "300", "0.15", "0.000045", "USD"],
        ["gpt-4o-mini-2024", "output", "40", "0.60", "0.000024", "USD"],
    ]
    assert "result of search_docs" in said.out and "estimated by the length" in said.err
    views = [json.loads(line)["view"] for line in ask("cost", REFUND, "--json").lines]
    assert views[0] == "runs" and {*views[1:]} == {"cost", "prompt_shares"}


def test_what_a_loop_cost_is_said(ask: Ask) -> None:
    said = ask("cost", LOOP)
    assert "USD of it for repeated calls (retrospan loops)" in said.out
    assert any(json.loads(line)["loops"] for line in ask("cost", "--json").lines)


def test_exit_code_tells_that_something_has_no_price(ask: Ask) -> None:
    assert ask("cost", REFUND, "--exit-code").code == 0
    assert ask("cost", "--by", "tool", "--exit-code").code == 1
    said = ask("cost", HOSTILE)
    assert said.code == 0 and "not known: " in said.lines[0]
    assert ask("cost", HOSTILE, "--exit-code").code == 1


def test_one_reason_is_not_said_of_calls_that_have_others(ask: Ask) -> None:
    why = "no price table has the model x of acme"
    row = {"unpriced": 9, "unknown": why, "reasons": 1}
    assert why_unpriced(row) == f"9 calls: {why}"
    assert why_unpriced({**row, "reasons": 3}) == f"9 calls: {why}; and for 2 other reasons"
    for line in ask("cost", "--by", "day", "--json").lines:
        row = json.loads(line)
        counted = f"SELECT uniqExact(unknown) AS n FROM cost WHERE toDate(at) = '{row['what']}'"
        assert json.loads(ask("sql", counted, "--json").out) == {"n": row["reasons"]}


def test_without_runs_that_is_said(ask_empty: Ask) -> None:
    assert "No runs yet" in ask_empty("cost").err


def test_an_empty_answer_says_why(ask: Ask) -> None:
    said = ask("cost", "--agent", "nobody")
    assert (said.code, said.out) == (0, "") and "No model call of agent nobody." in said.err
    assert ask("cost", "--since", "2100-01-01T00:00:00Z", "--exit-code").code == 1


def test_wrong_use_is_refused(ask: Ask) -> None:
    assert ask("cost", REFUND, "--by", "day").code == 2
    assert ask("cost", "--by", "colour").code == 2
    assert ask("cost", "no-such-run").code == 2
    said = ask("cost", "0" * 32)
    assert said.code == 2 and "no run starts with" in said.err and "Nearest:" in said.err


@pytest.mark.parametrize("words", [["cost"], ["cost", "--by", "tool"], ["cost", "last"]])
def test_the_sql_is_what_is_asked(ask: Ask, words: list[str]) -> None:
    printed = ask(*words, "--sql").out
    assert "FROM" in printed
    for statement in filter(str.strip, printed.split(";\n")):
        assert ask("sql", statement).code == 0, statement


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (None, "-"),
        (True, "-"),
        (0, "0.00 USD"),
        (12.345, "12.35 USD"),
        (1_234_567.8, "1,234,567.80 USD"),
        (0.5, "0.50 USD"),
        (0.0031, "0.0031 USD"),
        (0.000069, "0.000069 USD"),
        (0.123456, "0.123 USD"),
        (1e-12, "0.000000000001 USD"),
    ],
)
def test_amounts(amount: float | None, said: str) -> None:
    assert money(amount, "USD") == said
