from __future__ import annotations

import json

from fix_cli import Ask

REFUND = "4bf92f3577b34da6a3ce929d0e0e4736"


def keys(out: str) -> list[str]:
    return [line.split()[0] for line in out.splitlines()[2:]]


def test_without_a_step_the_state_is_the_one_after_the_last(ask: Ask) -> None:
    said = ask("state", REFUND)
    assert said.code == 0
    assert said.lines[0].startswith(
        "run 4bf92f35: the state after the last step 3 (model orla), 2026-09-21 14:00:09.210"
    )
    assert said.lines[2].split() == ["customer", "start", '{"id":"C-1042","email":"ada@example.com"}']
    assert said.lines[3].split()[:3] == ["policy", "step", "2"]
    assert ask("state", REFUND, "--step", "0").out == said.out


def test_step_n_is_the_state_as_it_began(ask: Ask) -> None:
    assert keys(ask("state", REFUND, "--step", "2").out) == ["customer"]
    said = ask("state", REFUND, "--step", "3")
    assert keys(said.out) == ["customer", "policy"]
    assert "the state as step 3 (model orla) began" in said.lines[0]
    assert ask("state", f"{REFUND}/3").out == said.out
    assert "when step N began" in ask("state", "--help").out


def test_the_state_at_a_time(ask: Ask) -> None:
    during = ask("state", REFUND, "--at", "2026-09-21T14:00:09.105Z")
    assert "during step 2 (tool search_docs)" in during.lines[0] and keys(during.out) == ["customer"]
    between = ask("state", REFUND, "--at", "2026-09-21T14:00:09.150Z")
    assert "between step 2 and step 3" in between.lines[0] and keys(between.out) == ["customer", "policy"]
    after = ask("state", REFUND, "--at", "2026-09-21T14:00:19.210Z")
    assert "10.0s after the last step 3" in after.lines[0]
    before = ask("state", REFUND, "--at", "2026-09-21T13:00:00Z")
    assert before.code == 2 and "had not begun at 2026-09-21 13:00:00" in before.err


def test_a_state_that_is_not_known_is_reported_in_words(ask: Ask) -> None:
    assert "is incomplete" in ask("state", "d220").err.splitlines()[0]
    said = ask("state", "batch/12")
    assert (said.code, said.out) == (0, "")
    assert "Not known: the state after the last step 1" in said.err and "not guessed" in said.err
    assert "\\n" not in said.err
    assert ask("state", "batch/12", "--exit-code").code == 1
    said = ask("state", "batch/12", "--json")
    assert said.out == "" and "Not known" in said.err


def test_state_as_json(ask: Ask) -> None:
    rows = [json.loads(line) for line in ask("state", REFUND, "--json").lines]
    assert rows[1] == {
        "key": "policy",
        "value": {"refund_days": 30, "source": "kb-17"},
        "changed_at_step": 2,
        "span_id": "0000000000000003",
    }


def test_steps_that_are_none_and_conflicting_places(ask: Ask) -> None:
    said = ask("state", REFUND, "--step", "9")
    assert said.code == 2 and "has 3 steps; there is no step 9" in said.err
    said = ask("state", f"{REFUND}/1", "--step", "2")
    assert said.code == 2 and "give one of RUN/N, --step and --at" in said.err


def test_full_prints_values_over_lines(ask: Ask) -> None:
    assert '    "refund_days": 30,' in ask("state", REFUND, "--full").out
