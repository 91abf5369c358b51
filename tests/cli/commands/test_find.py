"""`retrospan find`: where something was said."""

from __future__ import annotations

import json

import pytest
from fix_cli import HELD, HOSTILE, LOOP, REFUND, Ask
from hypothesis import given, settings
from hypothesis import strategies as st

from retrospan.ingest.cli.client.collector_client import CollectorClient, Parameter
from retrospan.ingest.cli.client.questions import statement
from retrospan.ingest.cli.commands.find import pattern_of


def found(ask: Ask, *words: str) -> list[dict[str, object]]:
    """Return the rows of an answer."""
    said = ask("find", *words, "--json")
    assert said.code == 0
    return [json.loads(line) for line in said.lines]


def test_a_phrase_is_found_wherever_it_was_said(ask: Ask) -> None:
    rows = found(ask, "refund policy")
    assert {(row["kind"], row["role"], row["tool_name"]) for row in rows} >= {
        ("message", "assistant", None),
        ("arguments", None, "search_docs"),
    }
    assert REFUND in {row["run_id"] for row in rows}
    assert all("refund policy" in str(row["text"]) for row in rows)


def test_a_message_that_prompts_repeat_is_found_once(ask: Ask) -> None:
    asked = found(ask, "Find the warranty.")
    assert [(row["run_id"], row["role"], row["step"]) for row in asked] == [(LOOP, "user", 1)]


def test_case_matters_only_when_asked_for(ask: Ask) -> None:
    assert found(ask, "REFUNDS ARE possible")
    assert not found(ask, "REFUNDS ARE possible", "--case")
    assert found(ask, "Refunds are possible", "--case")


def test_words_are_found_apart(ask: Ask) -> None:
    assert not found(ask, "days returned")
    rows = found(ask, "--words", "days", "returned")
    assert {row["kind"] for row in rows} == {"result", "message"}


def test_conditions_narrow(ask: Ask) -> None:
    everything = found(ask, "O-77", "-n", "500")
    for flag, column, value in (
        ("--kind", "kind", "arguments"),
        ("--role", "role", "user"),
        ("--tool", "tool_name", "update_record"),
        ("--run", "run_id", HELD),
    ):
        narrowed = found(ask, "O-77", flag, value, "-n", "500")
        assert narrowed == [row for row in everything if row[column] == value], flag
        assert 0 < len(narrowed) < len(everything)
    assert not found(ask, "O-77", "--since", "2100-01-01T00:00:00Z")
    assert not found(ask, "O-77", "--agent", "nobody")


def test_an_error_is_found_with_its_tool(ask: Ask) -> None:
    errors = found(ask, "--kind", "error", "owned")
    assert {row["run_id"] for row in errors} == {HOSTILE}
    assert any(row["tool_call"] for row in errors) and any(row["model_call"] for row in errors)


def test_the_answer_shows_the_text_around_the_word(ask: Ask) -> None:
    said = ask("find", "within 30 days", "-n", "50")
    assert said.code == 0
    assert said.lines[0].split() == ["STEP", "AT", "AGENT", "WHAT", "TEXT"]
    assert any(
        "4bf92f35/2" in line and "search_docs" in line and "within 30 days" in line for line in said.lines
    )
    assert "1 run" in said.err and "times" in said.err


def test_nothing_found_says_what_was_looked_for(ask: Ask) -> None:
    said = ask("find", "no such words", "--exit-code", "--kind", "result")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(
        "No result says 'no such words' in 8 runs. Try without --kind. --words finds them apart."
    )
    said = ask("find", "nowhere", "--kind", "message", "--role", "user", "--case")
    assert said.err.startswith(
        "Nothing that fits --role says 'nowhere' in 8 runs. Try without --kind, --role, --case."
    )
    said = ask("find", "nowhere")
    assert said.err.startswith("No message, argument, result or error says 'nowhere' in 8 runs.")
    assert "says 'nowhere' in 0 runs since 2040" in ask("find", "nowhere", "--since", "2040-01-01").err


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE runs; --", "%", "_", "\\", '"', "{a:String}", "\x1b[2J", "日本語", "'"]
)
def test_text_that_means_something_elsewhere_is_only_text(ask: Ask, text: str) -> None:
    rows = found(ask, text, "-n", "500")
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    told = {json.dumps(row["text"], ensure_ascii=False) + str(row["text"]) for row in rows}
    assert all(text in one or escaped in one for one in told)


def test_a_text_is_asked_for(ask: Ask) -> None:
    assert ask("find").code == 2
    said = ask("find", "  ")
    assert said.code == 2 and "TEXT is empty" in said.err
    assert "at most 100" in ask("find", "--words", *["a"] * 101).err


def test_the_sql_is_what_the_command_asks(ask: Ask) -> None:
    printed = ask("find", "O-77", "--sql").out
    rows = [json.loads(line) for line in ask("sql", printed, "--json").lines]
    assert len(rows) == len(found(ask, "O-77"))


@pytest.mark.parametrize(
    "words",
    ["tool_call_response", '"parts"', '"role":"user"', '"type":"text"', '{"', "},{", '":"', "content"],
)
def test_how_a_message_is_written_was_said_by_nobody(ask: Ask, words: str) -> None:
    assert ask("find", words, "--exit-code").code == 1
    assert ask("runs", "--text", words, "--exit-code").code == 1
    assert ask("sql", ask("find", words, "--sql").out, "--json").out == ""


def test_names_of_arguments_are_found(ask: Ask) -> None:
    assert {row["kind"] for row in found(ask, "query", "-n", "500")} >= {"arguments", "message"}


def test_runs_of_a_text_are_those_of_what_is_found(ask: Ask) -> None:
    for words in ("O-77", "within 30 days", "query"):
        runs = {json.loads(line)["run_id"] for line in ask("runs", "--text", words, "--json").lines}
        assert runs == {row["run_id"] for row in found(ask, words, "-n", "500")} != set()


def test_texts_behind_many_that_only_look_like_it_are_found(
    monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    every = found(ask, "call", "-n", "500")
    monkeypatch.setattr("retrospan.ingest.cli.commands.find._LEAST_LOOKED_AT", 1)
    assert found(ask, "call", "-n", "1") == every[:1]
    assert found(ask, "call", "-n", "500") == every


LEAVES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8),
    st.sampled_from(["parts", "type", "a\nb", "a\\nb", 'x"y', "tool_call", "{}", "[1, 2]", "a\tb"]),
    st.integers(-99, 99),
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LEAVES.map(str), inner, max_size=3)
)
PARTS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "content": LEAVES.map(str)}),
    st.fixed_dictionaries({"type": st.just("tool_call"), "name": LEAVES.map(str), "arguments": VALUES}),
    st.fixed_dictionaries({"type": st.just("tool_call_response"), "id": LEAVES.map(str), "response": VALUES}),
)


def said_in(value: object) -> list[str]:
    """Return the texts, numbers and names of a value."""
    if isinstance(value, dict):
        return [*map(str, value), *(leaf for each in value.values() for leaf in said_in(each))]
    if isinstance(value, list):
        return [leaf for each in value for leaf in said_in(each)]
    return [str(value)]


@settings(deadline=None, max_examples=12)
@given(
    parts=st.lists(PARTS, min_size=1, max_size=3),
    words=st.lists(
        st.sampled_from(["parts", "type", "text", "\\n", "\\", '"', "n", "1", ":", ",", "{", "tool", "a b"]),
        min_size=1,
    ),
)
def test_what_a_text_means_decides(collector: str, parts: list[dict[str, object]], words: list[str]) -> None:
    leaves = [
        leaf for part in parts for name, value in part.items() if name != "type" for leaf in said_in(value)
    ]
    words = [*words, *(leaf for leaf in leaves if leaf)]
    text = json.dumps({"role": "tool", "parts": parts}, ensure_ascii=False, separators=(",", ":"))
    given_texts = (
        "SELECT '' AS run_id, 'message' AS kind, '' AS role, '' AS agent_name, '' AS tool_name, 1 AS step,"
    )
    given_texts += " 1 AS model_call, 1 AS tool_call, now64(9) AS at, {text:String} AS text"
    sql = statement("find_texts").replace("FROM texts", f"FROM ({given_texts})")
    client = CollectorClient(collector, "from a test")
    asked: dict[str, Parameter] = {
        "escaped": [""],
        "exact": 1,
        "unsaid": 0,
        "since": "1970-01-01 00:00:00",
        "whole": 0,
        "most": 1,
    }
    asked |= dict.fromkeys(("run_id", "agent", "kind", "role", "tool"), "")
    for word in words[:3] + words[-3:]:
        answer = client.ask(sql, {**asked, "pattern": pattern_of(word), "words": [word], "text": text})
        assert bool(answer.rows) == any(word in leaf for leaf in leaves), word


@settings(deadline=None, max_examples=25)
@given(
    pairs=st.lists(
        st.tuples(st.text(max_size=6), st.text(min_size=1, max_size=8), st.text(max_size=6)), min_size=1
    )
)
def test_the_pattern_fits_whatever_holds_the_text(collector: str, pairs: list[tuple[str, str, str]]) -> None:
    texts = [
        (before + word + after, word) for before, word, after in pairs if "\x00" not in before + word + after
    ]
    texts += [(json.dumps(text, ensure_ascii=False), word) for text, word in texts]
    if texts:
        answer = CollectorClient(collector, "from a test").ask(
            "SELECT text FROM (SELECT arrayJoin(arrayZip({texts:Array(String)}, {patterns:Array(String)})) AS pair, "
            "pair.1 AS text, pair.2 AS pattern) WHERE NOT text ILIKE pattern",
            {"texts": [text for text, _ in texts], "patterns": [pattern_of(word) for _, word in texts]},
        )
        assert answer.rows == []
