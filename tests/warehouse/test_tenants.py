"""Tenants of one server: the users and policies that are made, and what a tenant sees under its policy."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from warehouse.engine_server import EngineServer
from warehouse.same_ids_scene import NAMES
from warehouse.tenant_scene import COMPARING

from retrospan.ingest.settings.server_address import ServerAddress, parse_server
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.ingest.warehouse.server import ServerWarehouse
from retrospan.ingest.warehouse.tenants import TABLES, TenantReaders, condition, reader_of, statements
from retrospan.queries import catalogue
from retrospan.schemas.engines import PLAIN, Form, cluster
from retrospan.schemas.errors import ConfigError, SqlError
from retrospan.schemas.migrate import shipped

ADDRESS = ServerAddress("db", 8123, user="ingest", password="secret-1")
SCENE = Path(__file__).with_name("tenant_scene.py")
SAME_IDS = Path(__file__).with_name("same_ids_scene.py")
TENANTS = ("acme", "globex")


def _run(*words: str, given: object = None, scene: Path = SCENE) -> Any:
    done = subprocess.run(
        [sys.executable, str(scene), *words],
        check=False,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=3600,
        env={**os.environ, "PYTHONPATH": str(SCENE.parents[1])},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    """What each tenant sees in every view, and what everybody together ('')."""
    directory = tmp_path_factory.mktemp("tenants") / "warehouse"
    runs = _run("fill", str(directory))
    return {tenant: _run("ask", str(directory), tenant, given=runs) for tenant in ("", *TENANTS)}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    """The same of the two views that compare runs."""
    directory = tmp_path_factory.mktemp("compared") / "warehouse"
    runs = _run("fill", str(directory))
    return {tenant: _run("compare", str(directory), tenant, given=runs) for tenant in ("", *TENANTS)}


@pytest.mark.long
@pytest.mark.parametrize("tenant", TENANTS)
@pytest.mark.requirement("R38")
def test_no_view_and_no_table_shows_a_row_of_another_tenant(
    seen: Mapping[str, dict[str, Any]], tenant: str
) -> None:
    shown = seen[tenant]["tenants"]
    assert all(found in ([], [tenant]) for found in shown.values()), shown
    with_rows = {name for name, found in shown.items() if found}
    assert {
        "runs",
        "spans",
        "steps",
        "messages",
        "model_calls",
        "provenance_edges",
        *_filled(seen),
    } <= with_rows


def _filled(seen: Mapping[str, dict[str, Any]]) -> set[str]:
    """What holds rows of both, when nobody is kept apart."""
    found = {name for name, owners in seen[""]["tenants"].items() if owners == ["acme", "globex"]}
    assert len(found) > 10
    return found


@pytest.mark.long
@pytest.mark.parametrize("tenant", TENANTS)
@pytest.mark.requirement("R38")
def test_a_run_of_another_tenant_is_a_run_that_is_not_there(
    seen: Mapping[str, dict[str, Any]], tenant: str
) -> None:
    _is_not_there(seen, tenant, {view.name for view in catalogue.views() if view.parameters} - COMPARING)
    for view in ("entity_state", "run_state", "provenance"):
        assert seen[""]["foreign"][view] != seen[""]["unknown"][view]


@pytest.mark.soak
@pytest.mark.parametrize("tenant", TENANTS)
@pytest.mark.requirement("R38")
def test_a_run_is_not_compared_with_one_of_another_tenant(
    compared: Mapping[str, dict[str, Any]], tenant: str
) -> None:
    _is_not_there(compared, tenant, set(COMPARING))


def _is_not_there(seen: Mapping[str, dict[str, Any]], tenant: str, views: set[str]) -> None:
    assert set(seen[tenant]["foreign"]) == views
    assert seen[tenant]["foreign"] == seen[tenant]["unknown"]
    # Without the policies the same questions are answered, so the test can fail.
    assert seen[""]["foreign"] != seen[""]["unknown"]
    assert seen[tenant]["own"] != seen[tenant]["unknown"]


@pytest.mark.long
@pytest.mark.requirement("R38")
def test_equal_ids_of_two_tenants_are_two_things(tmp_path: Path) -> None:
    """Neither what is derived of a tenant's runs nor what a view joins to them is another's."""
    directory = str(tmp_path / "warehouse")
    runs = _run("fill", directory, scene=SAME_IDS)
    assert sorted(runs["acme"]) == sorted(runs["globex"]) and len(runs["acme"]) > 5
    everybody = _run("ask", directory, "", scene=SAME_IDS)
    for tenant, other in (TENANTS, TENANTS[::-1]):
        own = _run("ask", directory, tenant, scene=SAME_IDS)
        name = NAMES[other].decode().lower()
        for view, rows in own.items():
            mine = [row for row in everybody[view] if row["tenant"] == tenant]
            assert _sorted(rows) == _sorted(mine), view
            assert not [row for row in rows if name in json.dumps(row).lower()], view
        assert sum(bool(rows) for rows in own.values()) > 15
        assert NAMES[tenant].decode() in json.dumps(own["runs"])


def _sorted(rows: list[dict[str, object]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def test_every_table_with_a_tenant_has_its_policy() -> None:
    with_tenant = {
        found[1]
        for _, _, statement in shipped()
        if (
            found := re.search(
                r"CREATE TABLE IF NOT EXISTS (\w+)\n\(.*^    tenant ", statement, re.DOTALL | re.MULTILINE
            )
        )
    }
    assert set(TABLES) == with_tenant - {"landing"}
    made = list(statements(ADDRESS, "acme", PLAIN))
    for table in TABLES:
        policies = [s for s in made if s.startswith("CREATE ROW POLICY") and f" ON retrospan.{table} " in s]
        assert any(s.endswith(f"USING {condition('acme')} TO `retrospan:acme`") for s in policies)
        assert any(s.endswith("USING 1 TO `ingest`") for s in policies)


@pytest.mark.parametrize("form", [PLAIN, cluster("main", shards=2)], ids=["plain", "sharded"])
@pytest.mark.parametrize("tenant", ["acme", "o'neil \\ `x`"], ids=["plain", "quotes"])
def test_the_engine_reads_every_statement(store: EmbeddedStore, tenant: str, form: Form) -> None:
    made = list(statements(ADDRESS, tenant, form))
    assert len(made) == len(set(made))
    for statement in made:
        assert store.rows("SELECT isNotNull(formatQueryOrNull({text:String}))", {"text": statement}) == [
            [1]
        ], statement
        # It gets as far as privileges, which the engine in a process gives nobody.
        if form is PLAIN and not statement.startswith("GRANT"):
            with pytest.raises(SqlError) as refused:
                store.command(statement)
            assert refused.value.code == 497, statement
    assert sum(s.startswith("CREATE ROW POLICY") for s in made) == sum(
        2 if form is PLAIN or table == "processes" else 4 for table in TABLES
    )


def test_a_reader_has_its_own_password_that_every_collector_finds_again() -> None:
    acme, globex = reader_of(ADDRESS, "acme"), reader_of(ADDRESS, "globex")
    assert acme == reader_of(ADDRESS, "acme") != globex
    assert len({acme.password, globex.password, ADDRESS.password}) == 3
    text = "\n".join(statements(ADDRESS, "acme", PLAIN))
    assert acme.password not in text and ADDRESS.password not in text
    with pytest.raises(ConfigError, match=r"server\.password"):
        reader_of(ServerAddress("db", 8123), "acme")


def test_a_login_that_may_make_no_users_answers_nobody(server: EngineServer) -> None:
    address = parse_server(server.address, user="me", password="p@ss/word")
    readers = TenantReaders(ServerWarehouse(address))
    with pytest.raises(ConfigError, match="ACCESS MANAGEMENT"):
        readers.connect("acme")
    readers.close()


def test_the_scene_asks_what_the_collector_makes() -> None:
    """The policy in the file of the scene is the one in the statements."""
    made = [
        s for s in statements(ADDRESS, "acme", PLAIN) if "ROW POLICY" in s and s.endswith("`retrospan:acme`")
    ]
    conditions = {cast("re.Match[str]", re.search(r"USING (.*) TO", s))[1] for s in made}
    assert conditions == {condition("acme")}
