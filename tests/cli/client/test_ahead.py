"""Answers that are asked for ahead: each to who takes it, few at once, and an error where it is met."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from retrospan.ingest.cli.client.ahead import AT_ONCE, Ahead
from retrospan.ingest.cli.client.collector_client import Parameter, Row
from retrospan.schemas.errors import TOO_MANY_QUERIES, CollectorUnreachable, SqlError


def echo(question: str, parameters: Mapping[str, Parameter]) -> list[Row]:
    if question == "wrong":
        raise SqlError("there is no such column.")
    return [{"question": question, **parameters}]


def test_each_answer_goes_once_to_who_asked_for_it() -> None:
    ahead = Ahead(echo)
    for number in range(20):
        ahead.begin("steps", {"run_id": "r", "first": number, "names": ["a", "b"]})
    assert ahead.take("steps", {"run_id": "r", "first": 99, "names": ["a", "b"]}) is None
    assert ahead.take("calls", {"run_id": "r", "first": 1, "names": ["a", "b"]}) is None
    for number in reversed(range(20)):
        asked: dict[str, Parameter] = {"names": ("a", "b"), "first": number, "run_id": "r"}
        assert ahead.take("steps", asked) == [
            {"question": "steps", "run_id": "r", "first": number, "names": ["a", "b"]}
        ]
        assert ahead.take("steps", asked) is None


def test_an_error_is_raised_where_the_answer_is_taken() -> None:
    ahead = Ahead(echo)
    ahead.begin("wrong", {})
    ahead.begin("right", {})
    assert ahead.take("right", {}) == [{"question": "right"}]
    with pytest.raises(SqlError, match="no such column"):
        ahead.take("wrong", {})
    ahead.begin("right", {})
    assert ahead.take("right", {}) == [{"question": "right"}]


def test_no_more_are_under_way_than_the_collector_answers_at_once() -> None:
    all_there, go = threading.Semaphore(0), threading.Event()

    def wait(question: str, parameters: Mapping[str, Parameter]) -> list[Row]:
        all_there.release()
        assert go.wait(30)
        return echo(question, parameters)

    ahead = Ahead(wait)
    for number in range(AT_ONCE + 2):
        ahead.begin("steps", {"first": number})
    for _ in range(AT_ONCE):
        assert all_there.acquire(timeout=30)
    assert not all_there.acquire(blocking=False)
    go.set()
    for number in range(AT_ONCE + 2):
        assert ahead.take("steps", {"first": number}) == [{"question": "steps", "first": number}]


def test_who_is_not_there_for_one_question_is_not_waited_for_with_another() -> None:
    for_ever = threading.Event()

    def silent(question: str, parameters: Mapping[str, Parameter]) -> list[Row]:
        if question == "steps":
            for_ever.wait(60)
        raise CollectorUnreachable("it closed the connection")

    ahead = Ahead(silent)
    ahead.begin("steps", {})
    ahead.begin("calls", {})
    try:
        with pytest.raises(CollectorUnreachable, match="it closed the connection"):
            ahead.take("steps", {})
    finally:
        for_ever.set()


def test_where_there_is_one_place_only_each_question_is_answered_all_the_same() -> None:
    place, one_was_refused = threading.Lock(), threading.Event()

    def ask_alone(question: str, parameters: Mapping[str, Parameter]) -> list[Row]:
        if not place.acquire(blocking=False):
            one_was_refused.set()
            raise SqlError("1 query is running already.", code=TOO_MANY_QUERIES)
        try:
            assert one_was_refused.wait(30)
            return echo(question, parameters)
        finally:
            place.release()

    ahead = Ahead(ask_alone)
    names = [f"question {number}" for number in range(12)]
    for name in names:
        ahead.begin(name, {})
    refused = 0
    for name in names:
        found = ahead.take(name, {})
        refused += found is None
        # Nothing else is under way: this one has the place.
        assert (ask_alone(name, {}) if found is None else found) == [{"question": name}]
    assert refused
