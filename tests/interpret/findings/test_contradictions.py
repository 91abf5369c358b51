"""What an answer states otherwise than a result is certain, or nothing is said."""

from __future__ import annotations

from collections.abc import Mapping
from time import process_time

import pytest
from finding_runs import Run
from story import text

from retrospan.ingest.interpret.findings.said_values import dates_in, numbers_in, readings, worded_numbers

ORDER: Mapping[str, object] = {
    "order_id": "ORD-4471",
    "order_total": 129.9,
    "currency": "EUR",
    "delivery_date": "2026-06-11",
}


def told(answer: str, result: object = ORDER, asked: str = "Where is my order?") -> list[str]:
    run = Run(3, asked)
    run.does("find_order", {"customer": "C-1042"}, result)
    run.says(answer)
    return [each.explanation for each in run.rows().findings]


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("It is ORD-4417.", "identifier ORD-4417, but find_order returned ORD-4471"),
        ("The order total is €192.85.", "amount 192.85, but find_order returned 129.9"),
        ("**Order total:** 192.85 EUR", "amount 192.85"),
        ("Order total: EUR 1,292.85", "amount 1,292.85"),
        ("Delivery is on June 20, 2026.", "date June 20, 2026, but find_order returned 2026-06-11"),
        ("Delivery date: 2026-06-20", "date 2026-06-20"),
        ("It will be delivered on 2026-06-20.", "date 2026-06-20"),
    ],
)
def test_a_value_that_nothing_explains_is_a_contradiction(answer: str, named: str) -> None:
    found = told(answer)
    assert len(found) == 1 and all(named in each for each in found), found


@pytest.mark.parametrize(
    "answer",
    [
        "It is ORD-4471, not ORD-4417.",
        "Write it in a form such as ORD-4417.",
        "The order total is not 192.85 EUR.",
        "The order total is 129,90 EUR.",
        "The order total is 130 EUR.",
        "The order total is about 192.85 EUR.",
        "The order total is 12990 cents.",
        "The order total is 64.95 EUR a person.",
        "The order total is $192.85.",
        "The order total is 192.85 % of that of last year.",
        "The total with the express service is 192.85 EUR.",
        "Delivery was originally planned on 2026-06-20.",
        "Delivery is not on 2026-06-20.",
        "Delivery is on 2026-06-18.",
        "Delivery is on 2026-07-11.",
        "The delivery date is 2026-06-11, and you have until 2026-06-20.",
        "The delivery date is 2026-06-32.",
        "",
    ],
)
def test_what_can_be_meant_otherwise_is_none(answer: str) -> None:
    assert told(answer) == []


@pytest.mark.parametrize(
    "asked",
    [
        "Is it ORD-4417, for 192.85 EUR, on 2026-06-20?",
        "Add 62.95 for the gift wrap. Delivery 9 days later. My number is ORD-4417.",
        "What is it with 48.460354 % more? It comes nine days later, as ord-4417.",
    ],
)
def test_what_the_run_was_told_or_can_have_computed_is_none(asked: str) -> None:
    assert (
        told("It is ORD-4417. The order total is 192.85 EUR. Delivery date: 2026-06-20.", asked=asked) == []
    )


def test_without_all_that_the_run_was_told_nothing_is_said() -> None:
    wrong = "It is ORD-4417. The order total is €192.85."
    assert len(told(wrong)) == 2
    run = Run(3, "Where is it?")
    run.does("find_order", {"customer": "C-1"}, ORDER)
    run.does("look", {"at": "it"}, None)  # what it returned is not on record
    assert run.says(wrong).rows().findings == []
    run = Run(3, "Where is it?")
    run.hear({"role": "user", "parts": [{"type": "image", "content": "aGk="}]})
    run.does("find_order", {"customer": "C-1"}, ORDER)
    assert run.says(wrong).rows().findings == []
    run = Run(3, "Where is it?")
    run.does("find_order", {"customer": "C-1"}, {**ORDER, "note": "and so on …"})
    run.does("read", {"id": 1}, "The note goes on and on...")
    assert run.says(wrong).rows().findings == []


def test_a_name_with_two_values_is_none() -> None:
    rows = [ORDER, {**ORDER, "order_total": 55.5, "delivery_date": "2026-06-12"}]
    assert told("The order total is 192.85 EUR, delivery date: 2026-06-20.", rows) == []


def test_an_amount_in_another_currency_that_was_asked_for_is_none() -> None:
    result = {key: value for key, value in ORDER.items() if key != "currency"}
    assert told("The order total is $141.22.", result, "What is it in dollars?") == []
    assert len(told("The order total is 192.85.", result)) == 1


def test_an_instant_may_be_told_by_the_clock_of_another_zone() -> None:
    result = {"departure_time": "2026-06-11T23:30:00Z"}
    assert told("Departure is on 2026-06-12.", result) == []
    assert len(told("Departure is on 2026-06-15.", result)) == 1


def test_a_text_of_another_model_call_is_no_source() -> None:
    """What the model itself said before does not make it right."""
    run = Run(3, "Where is it?")
    run.does("find_order", {"customer": "C-1"}, ORDER)
    run.model(text("assistant", "I think it is ORD-4417."))
    run.hear(text("user", "Are you sure?"))
    assert len(run.says("Yes: ORD-4417.").rows().findings) == 1


@pytest.mark.parametrize(
    "answer",
    [
        "order total " * 20_000 + "1",
        "order total: " + "1," * 50_000,
        "ORD-" * 50_000,
        "A1" + "-1a" * 50_000,
        "delivery " + "will be on the " * 20_000 + "2026-06-20",
        "9" * 100_000,
        "order total is €" + "9" * 50_000,
        "\x00\ud800 ORD-4417 ".replace("\ud800", "") * 3_000,
    ],
)
def test_a_hostile_answer_takes_no_time(answer: str) -> None:
    run = Run(3, "Where is it?")
    run.does("find_order", {"customer": "C-1"}, ORDER)
    run.says(answer)
    began = process_time()
    run.rows()
    assert process_time() - began < 5


@pytest.mark.parametrize(
    ("asked", "times"),
    [
        ("What is it with ten percent off?", 0),
        ("What is it with Ten Percent off?", 0),
        ("What is it with twenty percent off?", 1),
        ("What is it often?", 1),
    ],
)
def test_a_number_that_is_written_in_words_is_told(asked: str, times: int) -> None:
    assert len(told("The order total is 180.50 EUR.", {**ORDER, "order_total": 200.55}, asked)) == times


def test_numbers_in_words_are_read() -> None:
    said = "twenty-five, Thirty one, nineteen, ninety, one, often, attend"
    assert sorted(map(int, worded_numbers(said))) == [19, 25, 31, 90]


def test_a_result_with_many_values_takes_no_time() -> None:
    result = [{f"field_{n}_total": n * 1.01, "id": f"ORD-{n:05d}"} for n in range(3_000)]
    began = process_time()
    told("field 7 total is 8.5 EUR of ORD-99999 " * 50, result)
    assert process_time() - began < 5


def test_numbers_and_dates_are_read_in_every_way_they_may_be_meant() -> None:
    assert {str(each) for each in readings("1.299,50")} >= {"1299.50"}
    assert {str(each) for each in readings("1,299")} >= {"1299", "1.299"}
    assert {str(each) for each in numbers_in("ORD-4471 of 2026-06-11")} >= {"4471", "2026", "11"}
    said = dates_in("2026-06-11, 11 June 2026, June 11th, 2026, 2026-13-01, 03/04/2026")
    assert [f"{day:%Y-%m-%d}" for _, day in said] == ["2026-06-11"] * 3


def looked_up(given: str, *more: str, asked: str = "Where is my order ORD-5512?") -> list[str]:
    """What is found in a run that looks an order up, and then others."""
    run = Run(3, asked)
    for order in (given, *more):
        run.does("find_order", {"order": order}, {"state": "shipped"})
    run.says("It has shipped.")
    return [each.explanation for each in run.rows().findings]


def test_an_identifier_that_a_call_is_given_otherwise_is_a_contradiction() -> None:
    (said,) = looked_up("ORD-5521")
    assert said.startswith(
        "find_order was given the identifier ORD-5521, but the user named ORD-5512, and nothing"
    )


@pytest.mark.parametrize(
    ("given", "more", "asked"),
    [
        ("ORD-5512", (), "Where is my order ORD-5512?"),
        ("ord-5512", (), "Where is my order ORD-5512?"),
        ("ORD-5521", ("ORD-5512",), "Where is my order ORD-5512?"),
        ("ORD-5513", (), "Make the order after ORD-5512."),
        ("ORD-5521", (), "Is it ORD-5512 or ORD-5521?"),
        ("ORD-9821", (), "Where is my order ORD-5512?"),
        ("INV-5521", (), "Where is my order ORD-5512?"),
        ("ORD-5521", (), "Is it ORD-5512 or ORD-5527?"),
        ("ORD-5521", ("ORD-5523",), "Sum the orders ORD-5512 to ORD-5531."),
        ("ORD-1007", (), "Sum the orders ORD-0998 to ORD-1010."),
    ],
)
def test_an_identifier_that_may_be_right_is_not(given: str, more: tuple[str, ...], asked: str) -> None:
    assert looked_up(given, *more, asked=asked) == []


def test_an_identifier_outside_of_those_asked_for_is_a_contradiction() -> None:
    (said,) = looked_up("ORD-5541", "ORD-5512", asked="Sum the orders ORD-5512 to ORD-5531.")
    assert "ORD-5541, but the user named ORD-5531" in said


def test_an_identifier_that_a_result_told_is_not_a_contradiction() -> None:
    run = Run(3, "Where is my order ORD-5512?")
    run.does("search", {"customer": "Ada"}, {"replaced_by": "ORD-5521"})
    run.does("find_order", {"order": "ORD-5521"}, {"state": "shipped"})
    run.says("It has shipped.")
    assert run.rows().findings == []


def test_an_identifier_of_the_state_is_not_a_contradiction() -> None:
    for held, found in (("ORD-5521", 0), ("none", 1)):
        run = Run(3, "Where is my order ORD-5512?")
        run.does("find_order", {"order": "ORD-5521"}, {"state": "shipped"})
        for number in range(1, len(run.acts) + 1):
            run.state(number, order=held)
        run.state_after(len(run.acts), order="ORD-5521")
        run.says("It has shipped.")
        assert len(run.rows().findings) == found, held
