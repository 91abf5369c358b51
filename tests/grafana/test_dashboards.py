"""The dashboards are what Grafana reads, and every query of theirs gets rows out of the demo's warehouse."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_collector import Served
from grafana.dashboards import FOLDER, Panel, dashboards, expand, panels, variables
from jsonschema import Draft202012Validator

SCHEMA = json.loads(Path(__file__).with_name("dashboard.schema.json").read_text(encoding="utf-8"))
every_dashboard = pytest.mark.parametrize("name", list(dashboards()))
every_panel = pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel.name)
of_agents = pytest.mark.parametrize(
    "panel", [panel for panel in panels() if "${agent" in panel.sql], ids=lambda panel: panel.name
)


def ask(served: Served, sql: str) -> tuple[list[str], list[str], list[list[Any]]]:
    """The names, types and rows of an answer."""
    url = f"http://{served.sql}/?default_format=JSONCompact&database=retrospan&max_execution_time=60"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, sql.encode()), timeout=60) as reply:
            answer = json.loads(reply.read())
    except urllib.error.HTTPError as error:
        with error:
            raise AssertionError(f"{error.read().decode()}\n{sql}") from None
    return (
        [column["name"] for column in answer["meta"]],
        [column["type"] for column in answer["meta"]],
        answer["data"],
    )


@every_dashboard
def test_a_dashboard_keeps_to_grafanas_model(name: str) -> None:
    found = [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        for error in Draft202012Validator(SCHEMA).iter_errors(dashboards()[name])
    ]
    assert found == []


def test_the_model_refuses_what_is_not_of_it() -> None:
    validator = Draft202012Validator(SCHEMA)
    changes: tuple[Callable[[dict[str, Any]], object], ...] = (
        lambda board: board.update(schemaVersion=38),
        lambda board: board.update(pannels=[]),
        lambda board: board["panels"][0].update(type="graph"),
        lambda board: board["panels"][0]["gridPos"].update(w=25),
        lambda board: board["panels"][0]["datasource"].update(uid="of-my-own-grafana"),
        lambda board: board["panels"][1]["targets"][0].update(format=1),
    )
    for change in changes:
        board = json.loads((FOLDER / "runs.json").read_text(encoding="utf-8"))
        assert validator.is_valid(board)
        change(board)
        assert not validator.is_valid(board)


@every_dashboard
def test_panels_have_numbers_of_their_own_and_do_not_overlap(name: str) -> None:
    found = dashboards()[name]["panels"]
    assert len({panel["id"] for panel in found}) == len(found)
    taken: set[tuple[int, int]] = set()
    for panel in found:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells


def test_dashboards_have_addresses_of_their_own() -> None:
    addresses = [dashboard["uid"] for dashboard in dashboards().values()]
    assert len(set(addresses)) == len(addresses) == 3


@pytest.mark.long
@every_panel
def test_a_panel_gets_rows(demo: Served, panel: Panel) -> None:
    names, types, rows = ask(demo, expand(panel.sql))
    assert rows
    if panel.is_series:
        assert (names[0], types[0].partition("(")[0]) == ("time", "DateTime")
        assert [row[0] for row in rows] == sorted(row[0] for row in rows)
        numbers = [
            kind for kind in types if kind.removeprefix("Nullable(").startswith(("UInt", "Int", "Float"))
        ]
        assert numbers, "a series needs a number"


@of_agents
def test_a_panel_takes_what_may_be_chosen(demo: Served, panel: Panel) -> None:
    both = len(ask(demo, expand(panel.sql, {"agent": ["orla", "Orla"]}))[2])
    odd = ask(demo, expand(panel.sql, {"agent": ["it's", "none) OR (1=1"]}))[2]
    assert both
    # A sum over nothing is one row of zeros.
    assert odd == [] or panel.title == "In this window"


def test_menus_are_filled(demo: Served) -> None:
    for name, query in variables().items():
        names, _, rows = ask(demo, query)
        assert len(names) == 1
        assert ["orla"] in rows, name


def test_a_choice_of_agents_is_kept_to(demo: Served) -> None:
    (latest,) = (panel for panel in panels() if panel.name == "runs: Latest runs")
    names, _, rows = ask(demo, expand(latest.sql, {"agent": ["Orla"]}))
    agents = [row[names.index("agent")] for row in rows]
    assert agents == ["Orla", "Orla"]
    assert len(ask(demo, expand(latest.sql))[2]) == 7
