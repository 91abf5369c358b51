"""Views that the port computes: the rows of the view, whatever is given, and only while they fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from answer.conftest import LIMITS, Port, started
from story import Story, calls, text

from retrospan.ingest.answer.computed import lookups
from retrospan.ingest.answer.computed.given_rows import COMPUTED, given_rows
from retrospan.ingest.answer.computed.lookups import TooMuch
from retrospan.ingest.answer.rewriting.inlining import inlined, placed
from retrospan.ingest.cli.client.questions import statement
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.queries import catalogue
from retrospan.schemas.store import Parameters

#: An id with what a parameter, a literal and a reference each write in their own way.
ODD = "it's 50% a\\b/\t\n\u00e9"
ODD_LITERAL = "'it\\'s 50% a\\\\b/\\t\\n\u00e9'"
#: The same as a client of the port writes it.
ODD_SENT = "it's 50% a\\\\b/\\t\\n\u00e9"

WALK = "SELECT * FROM provenance(ref = {ref:String}, depth = {depth:UInt32}, direction = 'up') ORDER BY ALL"


@pytest.fixture(scope="module")
def told(module_views: EmbeddedStore) -> EmbeddedStore:
    views = module_views
    for run_id, query in (("r", "a"), (ODD, "b")):
        story = Story(run_id)
        story.hear(text("user", "x"))
        story.model(calls("search", q=query))
        story.tool("search", {"q": query}, [])
        story.model(text("assistant", f"done\t{ODD}"))
        story.state(1, city=f"Oslo {query}")
        story.tell(views)
    return views


@pytest.fixture(scope="module")
def port(told: EmbeddedStore, module_warehouse: EmbeddedWarehouse) -> Iterator[Port]:
    assert told
    served = started(module_warehouse, replace(LIMITS, query_seconds=60.0))
    yield Port(served.start())
    served.stop(5.0)


def _computed(store: EmbeddedStore, sql: str, parameters: dict[str, Any]) -> list[list[object]]:
    statement, of_views = placed(sql, COMPUTED)
    assert of_views and "canon_" not in statement
    return store.rows(statement, {**parameters, **given_rows(store, of_views, parameters)})


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        pytest.param(
            f"SELECT * FROM run_diff(a = 'r', b = {ODD_LITERAL}) ORDER BY ALL", {}, marks=pytest.mark.soak
        ),
        # The SQL of these two is planned for seconds.
        pytest.param(
            "SELECT * FROM run_diff(a = {a:String}, b = {b:String}) ORDER BY ALL",
            {"a": ODD, "b": "r"},
            marks=pytest.mark.long,
        ),
        pytest.param(
            "SELECT d.aspect FROM run_diff(a = 'r', b = {b:String}) AS d ORDER BY ALL",
            {"b": ODD},
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "SELECT * FROM run_divergence(a = {a:String}, b = 'r')", {"a": ODD}, marks=pytest.mark.soak
        ),
        pytest.param(
            "SELECT count() FROM run_divergence(a = 'r', b = 'r') WHERE identical", {}, marks=pytest.mark.soak
        ),
        pytest.param(WALK, {"ref": "run:r", "depth": 9}, marks=pytest.mark.long),
        (WALK, {"ref": "run:it's 50%25 a\\b%2F\t\n\u00e9", "depth": 9}),
        pytest.param(
            "SELECT count() FROM (SELECT label FROM provenance(ref = 'run:r', depth = 2, direction = 'up'))",
            {},
            marks=pytest.mark.long,
        ),
    ],
)
def test_the_rows_are_those_of_the_view(told: EmbeddedStore, query: str, parameters: dict[str, Any]) -> None:
    rows = told.rows(query, parameters)
    assert rows and rows != [[0]]
    assert _computed(told, query, parameters) == rows


def test_what_is_asked_of_a_pair_at_once_is_what_is_asked_apart_and_compared_once(
    told: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    rows = lookups.Lookups.rows

    def noted(self: lookups.Lookups, name: str, parameters: Parameters) -> list[list[Any]]:
        read.append(name)
        return rows(self, name, parameters)

    monkeypatch.setattr(lookups.Lookups, "rows", noted)
    pair = {"a": "r", "b": ODD}
    at_once = _computed(told, statement("comparison"), pair)
    assert read.count("find_compared_runs") == 1
    asked_apart = {
        view: _computed(told, statement(question), pair)
        for question, view in (("divergence", "run_divergence"), ("diff", "run_diff"))
    }
    names = re.findall(r"\w+", statement("comparison").partition("FROM")[0])[1:]
    for view, question in (("run_divergence", "divergence"), ("run_diff", "diff")):
        of_view = [dict(zip(names, row, strict=True)) for row in at_once if row[0] == view]
        columns = re.findall(r"\w+", statement(question).partition("FROM")[0])[1:]
        assert [[row[column] for column in columns] for row in of_view] == asked_apart[view]
        assert asked_apart[view]


def test_columns_have_the_types_of_the_view(told: EmbeddedStore) -> None:
    for view in COMPUTED:
        names = [(column.name, column.type) for column in catalogue.load(view).columns]
        shown = ", ".join(f"toTypeName({name})" for name, _ in names)
        asked = {"run_diff": "a = 'r', b = 'r'", "run_divergence": "a = 'r', b = 'r'"}
        call = f"{view}({asked.get(view, '''ref = 'run:r', depth = 1, direction = 'up' ''')})"
        (types,) = _computed(told, f"SELECT {shown} FROM {call} LIMIT 1", {})
        assert types == [kind for _, kind in names]


@pytest.mark.long
@pytest.mark.parametrize(
    "ref",
    [
        "",
        ":",
        "run:",
        "step:",
        "step:r/",
        f"step:r/{'9' * 5000}",
        "step:r/0",
        "step:r/07",
        "span:/",
        "message:",
    ],
)
def test_odd_references_are_answered_as_the_view_does(told: EmbeddedStore, ref: str) -> None:
    parameters: dict[str, Any] = {"ref": ref, "depth": 3}
    assert _computed(told, WALK, parameters) == told.rows(inlined(WALK), parameters)


@pytest.mark.parametrize(
    ("call", "parameters"),
    [
        ("run_diff(a = 'r', b = {b:String})", {}),
        ("provenance(ref = 'run:r', depth = 'many', direction = 'up')", {}),
    ],
)
def test_a_value_that_does_not_fit_is_refused(port: Port, call: str, parameters: dict[str, str]) -> None:
    status, body, _ = port.sql(f"SELECT count() FROM {call}", **parameters)
    assert status >= 400 and b"Code: " in body


def test_the_port_answers_what_is_sent_to_it(port: Port, told: EmbeddedStore) -> None:
    sent = {"param_b": ODD_SENT, "default_format": "JSONCompactEachRow"}
    query = "SELECT count(), countIf(value_a != value_b) FROM run_diff(a = 'r', b = {b:String})"
    status, body, _ = port.sql(query, **sent)
    expected = told.rows(query, {"b": ODD})
    assert status == 200 and expected[0][0] != 0
    assert [int(count) for count in body.decode().strip('[]\n"').replace('"', "").split(",")] == expected[0]


def test_a_readers_settings_and_limits_are_those_of_the_answer_alone(port: Port) -> None:
    query = "SELECT depth, object FROM provenance(ref = 'run:r', depth = 5, direction = 'up') ORDER BY ALL"
    whole = port.sql(query)
    assert whole[0] == 200 and whole[1].count(b"\n") > 3
    assert port.sql(query, join_use_nulls="1", transform_null_in="1", max_threads="1")[1] == whole[1]
    assert port.sql(query, limit="1")[1] == whole[1].split(b"\n")[0] + b"\n"
    status, body, _ = port.sql(query, max_result_rows="1")
    assert status >= 400 and b"Limit for result exceeded" in body


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("SELECT * FROM run_diff(a = 'r', b = 'r') ORDER BY ALL", marks=pytest.mark.long),
        pytest.param("SELECT * FROM run_divergence(a = 'r', b = 'r')", marks=pytest.mark.soak),
        pytest.param(
            "SELECT * FROM provenance(ref = 'run:r', depth = 5, direction = 'up') ORDER BY ALL",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_would_hold_too_much_is_answered_by_the_view(
    port: Port, told: EmbeddedStore, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    here = port.sql(query)
    monkeypatch.setattr(lookups, "MOST_ROWS", 3)
    with pytest.raises(TooMuch):
        _computed(told, query, {})
    assert here[0] == 200 and port.sql(query)[:2] == here[:2]


def test_rows_that_are_too_long_for_a_parameter_are_answered_by_the_view(
    told: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddedStore, "longest_parameter", 100)
    with pytest.raises(TooMuch):
        _computed(told, WALK, {"ref": "run:r", "depth": 9})


def test_a_reader_who_names_a_parameter_as_the_port_does_gets_the_view(port: Port) -> None:
    query = "SELECT count() FROM run_diff(a = 'r', b = 'r')"
    status, body, _ = port.sql(query, param_rows_of_run_diff_1="[]")
    assert status == 200 and int(body) > 0
