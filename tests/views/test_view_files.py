"""Each view file documents itself, and what it says is what ClickHouse finds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import retrospan.queries
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries.catalogue import HeaderError, View, load, read_view
from retrospan.queries.catalogue import views as all_views
from retrospan.queries.document import render
from retrospan.schemas.errors import NotFound

#: By view: `columns`, and `parameters` if it has any, each from name to type.
CONTRACT: dict[str, dict[str, dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("contract.toml").read_text(encoding="utf-8")
)

_ZERO = {"String": "''", "UInt32": "1"}


def _called(view: View) -> str:
    given = ", ".join(f"{p.name} = {_ZERO[p.type]}" for p in view.parameters)
    return f"{view.name}({given})" if given else view.name


def test_the_views_are_those_of_the_contract() -> None:
    assert {view.name for view in all_views()} == CONTRACT.keys()


@pytest.mark.long
@pytest.mark.parametrize("view", all_views(), ids=lambda view: view.name)
def test_columns_and_parameters_are_those_of_contract_and_header(view: View, views: EmbeddedStore) -> None:
    # Of what the statement makes, whatever the definition says of it.
    read = _called(view) if view.parameters else f"({view.statement})"
    found = [(str(row[0]), str(row[1])) for row in views.rows(f"DESCRIBE TABLE {read}")]
    expected = list(CONTRACT[view.name]["columns"].items())
    assert found[: len(expected)] == expected
    assert found == [(column.name, column.type) for column in view.columns]
    parameters = CONTRACT[view.name].get("parameters", {})
    assert [(p.name, p.type) for p in view.parameters] == list(parameters.items())


@pytest.mark.parametrize(
    "view", [one for one in all_views() if not one.parameters], ids=lambda view: view.name
)
def test_clients_are_told_what_each_column_means(view: View, views: EmbeddedStore) -> None:
    found = views.rows(f"DESCRIBE TABLE {view.name}")
    told = [(column.name, column.type, column.meaning) for column in view.columns]
    assert [(str(row[0]), str(row[1]), str(row[4])) for row in found] == told


@pytest.mark.parametrize("view", all_views(), ids=lambda view: view.name)
def test_a_file_is_one_statement_that_names_its_columns(view: View) -> None:
    bare = re.sub(r"--[^\n]*|'(?:[^'\\]|\\.)*'", "", view.statement)
    assert ";" not in bare
    # Inside, `*` passes on what a stage before has named.
    while "(" in bare:
        bare = re.sub(r"\([^()]*\)", "", bare)
    assert re.search(r"\bSELECT\b", bare)
    assert not re.search(r"SELECT(\s+DISTINCT)?\s+(\w+\.)?\*", bare)


@pytest.mark.parametrize(
    "view",
    [
        # The SQL of two is planned for seconds.
        pytest.param(view, id=view.name, marks=[pytest.mark.long] if view.name.startswith("run_di") else [])
        for view in all_views()
    ],
)
def test_examples_run(view: View, views: EmbeddedStore) -> None:
    assert view.examples
    for example in view.examples:
        views.query(example, {"run_id": "r", "other_run_id": "s"})


def test_a_view_comes_after_those_it_reads() -> None:
    names = [view.name for view in all_views()]
    for view in all_views():
        for source in view.sources & set(names) - {view.name}:
            assert names.index(source) < names.index(view.name)


def test_the_documentation_is_what_the_headers_say() -> None:
    page = Path(retrospan.queries.__file__).parents[3] / "docs" / "views.md"
    assert page.read_text(encoding="utf-8") == render(all_views()), (
        "docs/views.md is stale: python -m retrospan.queries.document > docs/views.md"
    )


def test_an_unknown_view_is_not_found_and_the_message_names_the_views() -> None:
    with pytest.raises(NotFound, match=r"'run'.*run_diff"):
        load("run")


@pytest.mark.parametrize(
    "text",
    [
        "-- title: x\n-- params: none\nSELECT 1",
        "-- title: x\n-- returns:\n--   a String: b\nSELECT 1",
        "-- title: x\n-- params: none\n-- returns:\n--   a String\nSELECT 1",
        "-- title: x\n-- params: none\n-- returns:\n--   a String: b\n-- titel: y\nSELECT 1",
    ],
)
def test_a_header_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(HeaderError, match=r"broken\.sql"):
        read_view("broken", text)
