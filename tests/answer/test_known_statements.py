"""A statement that was read before: executed as one that is read for the first time, whatever its values are."""

from __future__ import annotations

from itertools import pairwise

import pytest

from retrospan.ingest.answer.guard.guard import CheckedStatement
from retrospan.ingest.answer.known_statements import Key, KnownStatements, Reading
from retrospan.ingest.answer.questions import Question, Understanding
from retrospan.ingest.http.messages import Request
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import SqlError

VALUES = ({"value": "plain"}, {"value": "a needle in 2 stacks"}, {"value": "x"})
STATEMENTS = (
    "SELECT run_id FROM runs WHERE run_id = {value:String}",
    "SELECT run_id FROM messages WHERE content LIKE {value:String}",
    "SELECT span_id FROM spans WHERE attributes['k'] = {value:String}",
    "SELECT * FROM run_state(run_id = {value:String}, step = 3)",
    "SELECT * FROM run_diff(a = {value:String}, b = 'x')",
    "SHOW TABLES",
)


def asked(understanding: Understanding, statement: str, **parameters: str) -> Question:
    address = {f"param_{name}": value for name, value in parameters.items()}
    question = understanding.understood(Request("POST", "/", address, {}, statement.encode(), False))
    assert question is not None
    return question


def understanding_of(warehouse: EmbeddedWarehouse) -> Understanding:
    understanding = Understanding(warehouse, Limits(), lambda: None)
    understanding.prepare()
    return understanding


@pytest.fixture(scope="module")
def fresh(module_warehouse: EmbeddedWarehouse) -> Understanding:
    return understanding_of(module_warehouse)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_known_statement_is_executed_as_one_that_is_read_anew(
    statement: str, fresh: Understanding, module_warehouse: EmbeddedWarehouse
) -> None:
    first, *others = VALUES
    asked(fresh, statement, **first)
    for values in (first, *others, first):
        known, anew = (
            asked(each, statement, **values) for each in (fresh, understanding_of(module_warehouse))
        )
        assert known.statement == anew.statement
        assert known.calls == anew.calls
        assert known.parameters == anew.parameters


def test_a_statement_is_read_once_whatever_the_values(fresh: Understanding) -> None:
    statement = "SELECT run_id, 1 FROM runs WHERE run_id = {value:String}"
    found = [asked(fresh, statement, **values).statement for values in VALUES]
    assert all(one is other for one, other in pairwise(found))


def test_a_known_statement_with_another_name_is_refused(fresh: Understanding) -> None:
    statement = "SELECT count() FROM {value:Identifier}"
    assert asked(fresh, statement, value="runs")
    with pytest.raises(SqlError, match="is not a name that can be read"):
        asked(fresh, statement, value="system")


def test_a_parameter_more_is_another_statement(fresh: Understanding) -> None:
    statement = "SELECT * FROM run_diff(a = 'a', b = 'b')"
    (call,) = asked(fresh, statement).calls
    assert not asked(fresh, statement, **{call.parameter: "[]"}).calls


def test_what_is_learned_anew_is_read_anew(module_warehouse: EmbeddedWarehouse) -> None:
    understanding = understanding_of(module_warehouse)
    before = asked(understanding, STATEMENTS[0], value="x").statement
    understanding.learn()
    after = asked(understanding, STATEMENTS[0], value="x").statement
    assert before == after
    assert before is not after


def reading(text: str) -> Reading:
    return Reading(CheckedStatement(text), CheckedStatement(text), [], {})


def key(text: str) -> Key:
    return text, "retrospan", False, frozenset()


def test_what_was_used_least_lately_goes() -> None:
    known = KnownStatements(most_characters=90)
    for name in "abc":
        known.add(key(name * 10), reading(name * 10))
    assert known.find(key("a" * 10))
    known.add(key("d" * 10), reading("d" * 10))
    assert not known.find(key("b" * 10))
    assert all(known.find(key(name * 10)) for name in "acd")


def test_a_very_long_statement_is_not_kept() -> None:
    known = KnownStatements()
    known.add(key("long"), reading("x" * 40_000))
    assert not known.find(key("long"))
