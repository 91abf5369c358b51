"""Loops, alternations and failures that repeat: what breaks each rule, and what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest
from finding_runs import Run

from retrospan.ingest.interpret.findings.outcomes import acknowledges, says_nothing
from retrospan.ingest.interpret.findings.wording import is_reworded, question_of, wording_of
from retrospan.schemas.canonical import ToolCallRow


def rules_of(run: Run) -> list[str]:
    return [each.rule for each in run.rows().findings]


def searches(*queries: str, result: object = None, effect: str = "") -> Run:
    run = Run(5, "Find it.")
    for query in queries:
        run.does("search_docs", {"query": query}, [] if result is None else result, effect=effect or None)
    return run


def call(result: str | None, status: str = "ok", effect: str | None = None) -> ToolCallRow:
    empty: dict[str, Any] = dict.fromkeys(ToolCallRow.__dataclass_fields__)
    return ToolCallRow(**{**empty, "result": result, "status": status, "effect": effect})


def test_a_loop_of_a_run_that_failed_needs_no_equal_results() -> None:
    for failed, rules in ((True, ["exact_loop"]), (False, [])):
        run = Run(5, "Is it done?")
        for count in range(5):
            run.does("look", {"at": "it"}, {"looked": count})
        run = run.fails("the limit of 12 turns is reached") if failed else run.says("No.")
        assert [rule for rule in rules_of(run) if rule != "lost_context"] == rules


def test_calls_without_results_or_arguments_are_not_judged() -> None:
    run = Run(5, "Is it done?")
    for _ in range(5):
        run.does("look", {"at": "it"}, None)
    assert rules_of(run.says("No.")) == []
    run = Run(5, "Is it done?")
    for _ in range(5):
        run.tool("look", None, {"looked": 1})
    assert rules_of(run.says("No.")) == []


def test_two_calls_are_no_loop_and_three_are() -> None:
    for times, rules in ((2, []), (3, ["exact_loop"])):
        assert rules_of(searches(*["Zeta-9"] * times).says("No.")) == rules


def test_a_success_after_a_loop_of_failures_ends_the_matter() -> None:
    for succeeds in (True, False):
        run = Run(5, "Read it.")
        for _ in range(5):
            run.does("read", {"id": 1}, error="Locked: busy")
            run.does("note", {"text": f"try {len(run.acts)}"}, {"noted": len(run.acts)})
        if succeeds:
            run.does("read", {"id": 2}, {"plan": "pro", "seats": 4})
        assert rules_of(run.says("So.")) == ([] if succeeds else ["repeated_failures"])


@pytest.mark.parametrize(
    ("queries", "loops"),
    [
        (("Zeta-9 warranty", "warranty of Zeta-9", "Zeta-9 warranty terms"), True),
        (
            ("Zeta-9 warranty", "warranty of Zeta-9", "Zeta-9 guarantee", "how long is Zeta-9 guaranteed"),
            True,
        ),
        (("Zeta-9 warranty", "Zeta-9 price list", "Zeta-9 user manual", "Zeta-9 spare parts"), False),
        (("refunds policy", "policy for refunds", "what is the refund policy"), True),
        (("Zeta-9 warranty", "Zeta-8 warranty", "Zeta-7 warranty"), False),
        (("warranty of the Zeta-9", "Zeta-9 warranty", "the manual of Alpha-2"), False),
        (("tickets of Ann Lee", "tickets that Bob Ray has", "what Cy Horn opened"), False),
        (
            ("weather oslo", "weather rome", "weather kyiv", "weather lima", "weather bonn", "weather nice"),
            False,
        ),
        (("Refund Policy", "Return Policy", "Cancellation Policy"), False),
        (("cats", "dogs", "birds", "fish", "mice", "bats", "ants"), False),
        (("zeta-9 warranty", "warranty zeta 9", "zeta-9 guarantee", "zeta-9"), True),
        (("page 1", "page 2", "page 3"), False),
        (("", "", " "), False),
    ],
)
def test_wording_decides_whether_empty_answers_are_a_loop(queries: tuple[str, ...], loops: bool) -> None:
    found = rules_of(searches(*queries).says("Nothing."))
    assert found == (["wording_loop"] if loops else []) or (not queries[0] and found == [])


def test_questions_that_share_no_word_are_a_loop_if_there_are_many() -> None:
    queries = (
        "money back rules",
        "returns of goods",
        "refund conditions page",
        "reimbursement for buyers",
        "cancel a purchase",
        "consumer withdrawal right",
    )
    assert rules_of(searches(*queries).says("Nothing.")) == ["wording_loop"]
    assert rules_of(searches(*queries[:5]).says("Nothing.")) == []
    assert rules_of(searches(*queries[:4]).fails("12 turns")) == ["wording_loop"]


def test_the_same_answer_that_says_something_is_a_loop_only_about_the_same_thing() -> None:
    result = {"hits": 1, "text": "The Zeta-9 is a vacuum cleaner of 2024 with a bag."}
    about = ("Zeta-9 warranty", "warranty of the Zeta-9", "Zeta-9 warranty length")
    assert rules_of(searches(*about, result=result).says("So.")) == ["wording_loop"]
    assert rules_of(searches(*about, result=result, effect="write").says("So.")) == []
    assert rules_of(searches(*about, result={"status": "ok"}).says("So.")) == []


def test_a_pair_alternates_three_times_before_it_is_one() -> None:
    for times in (2, 3):
        run = Run(5, "Fix it.")
        for _ in range(times):
            run.does("read_file", {"path": "a.py"}, "the file is as long as it was")
            run.does("run_test", {}, "1 failed, 3 passed in the file a.py")
        assert rules_of(run.says("No.")) == (["alternation"] if times == 3 else [])


def test_a_pair_whose_answer_changes_in_the_end_is_none() -> None:
    run = Run(5, "Fix it.")
    for _ in range(4):
        run.does("read_file", {"path": "a.py"}, "the file is as long as it was")
        run.does("run_test", {}, "1 failed, 3 passed in the file a.py")
    run.does("edit_file", {"path": "a.py", "text": "x"}, {"changed": 1})
    run.does("run_test", {}, "4 passed in the file a.py")
    assert rules_of(run.says("Fixed.")) == []


@pytest.mark.parametrize(
    ("result", "nothing", "done"),
    [
        ("[]", True, False),
        ('{"hits": [], "next": null}', True, False),
        ("No results.", True, False),
        ('"nothing found"', True, False),
        ("not found: the page you look for is here instead, with 12 entries", False, False),
        ('{"status": "pending"}', False, True),
        ('"ok"', False, True),
        ("true", False, True),
        ('{"stock": 0}', False, False),
        ('{"status": "ok", "id": 7}', False, False),
        ("[" * 5_000, False, False),
        (None, False, False),
    ],
)
def test_what_a_result_says(result: str | None, nothing: bool, done: bool) -> None:
    assert says_nothing(call(result)) == nothing
    assert acknowledges(call(result)) == done
    assert not says_nothing(call(result, "error")) and not acknowledges(call(result, "error"))
    assert not acknowledges(call(result, effect="read"))


def test_wording_takes_any_arguments() -> None:
    for arguments in (
        "",
        "null",
        "3",
        "[[[",
        '{"a": {"b": ["x", 1.5, true, null]}}',
        '"\\ud800"',
        "{" * 1_999,
    ):
        assert wording_of(arguments) is not None
    assert wording_of(None) is None and wording_of('"' + "x" * 2_000 + '"') is None
    one, other = wording_of('{"q": "Ann Lee orders"}'), wording_of('{"q": "orders of Bob Ray"}')
    assert one is not None and other is not None
    assert question_of([one, other]) is None and not is_reworded(one.words, other.words)


def test_what_a_result_measures_of_its_own_call_makes_no_other_result() -> None:
    """As a search engine says how long it took."""
    run = Run(5, "What is the warranty of the Zeta-9?")
    for count, query in enumerate(("Zeta-9 warranty", "warranty of Zeta-9", "Zeta-9 warranty terms")):
        run.does("search", {"query": query}, {"took_ms": 3 + count, "hits": []})
    (found,) = [each for each in run.says("No.").rows().findings if each.rule == "wording_loop"]
    assert "every call returned the same nothing" in found.explanation
    run = Run(5, "Where is it?")
    for count in range(3):
        run.does("look", {"at": "it"}, {"elapsed": 0.1 * count, "place": {"shelf": 4, "row": "b"}})
    (found,) = [each for each in run.says("There.").rows().findings if each.rule == "exact_loop"]
    assert "every call returned the same but for what it measures of itself" in found.explanation


@pytest.mark.parametrize(
    "results",
    [
        # A way and a song have a duration, and an event a time.
        [{"duration": 3}, {"duration": 4}, {"duration": 5}],
        [{"time": "10:00", "room": "a"}, {"time": "10:30", "room": "a"}, {"time": "11:00", "room": "a"}],
        # Ids of what was made.
        [{"request_id": "r-1", "made": True, "by": 5}, {"request_id": "r-2", "made": True, "by": 5}] * 2,
        # Nothing but measurements is what was asked for.
        [{"latency_ms": 3}, {"latency_ms": 4}, {"latency_ms": 5}],
        # It waits for something that comes.
        [
            {"status": "pending", "elapsed": 1},
            {"status": "pending", "elapsed": 2},
            {"status": "pending", "elapsed": 3},
        ],
    ],
)
def test_what_is_asked_for_is_no_measurement_of_the_call(results: list[object]) -> None:
    run = Run(5, "And now?")
    for result in results:
        run.does("look", {"at": "it"}, result)
    assert rules_of(run.says("So.")) == []
