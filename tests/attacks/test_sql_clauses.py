"""Settings, system tables, databases and functions that a statement may not name, at whatever depth."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator

import pytest

from retrospan.ingest.answer.guard.allowlist import ENDLESS_FUNCTIONS, Allowlist, word_set
from retrospan.ingest.answer.guard.guard import Guard
from retrospan.ingest.answer.rewriting.inlining import inlined, own_functions
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.queries import catalogue
from retrospan.schemas.errors import SqlError
from retrospan.schemas.migrate import shipped

#: What migrations add to the engine's own functions.
FUNCTIONS = {
    found[1]
    for _, _, statement in shipped()
    if (found := re.search(r"CREATE FUNCTION IF NOT EXISTS (\w+)", statement))
}


@pytest.fixture(scope="module")
def guard(engine: EmbeddedWarehouse) -> Iterator[Guard]:
    """The guard with what the real engine offers, and the views."""
    store = engine.connect()
    read = Allowlist.read(store)
    views = {view.name: tuple(parameter.name for parameter in view.parameters) for view in catalogue.views()}
    yield Guard(
        Allowlist(
            read.functions | FUNCTIONS,
            read.combinators,
            read.types,
            read.table_functions,
            views,
            read.databases | {"others"},
        )
    )
    store.close()


CLAUSES = [
    "final, readonly = 0",
    "readonly",
    "final, allow_ddl",
    "final = 1, max_execution_time = 0",
    "`readonly` = 0",
    "final, `readonly`",
    "max_execution_time = 0",
    "max_block_size = 1000000000",
    "output_format_schema = 'x'",
    "format_schema = 'x'",
    "{x:Identifier} = 1",
    "final = {x:UInt8}",
    "limit",
    "log_comment = 'x'",
    "'readonly' = 0",
    "final = 1 = 1",
    "final = -1",
]
PLACES = [
    "SELECT * FROM (SELECT 1 SETTINGS {})",
    "SELECT (SELECT 1 SETTINGS {})",
    "WITH q AS (SELECT 1 settings {}) SELECT * FROM q",
    "SELECT 1 IN (SELECT 1 /**/ Settings {})",
    "SELECT 1 SETTINGS {} UNION ALL SELECT 2",
    "SELECT * FROM view(SELECT 1 SETTINGS {})",
    "SELECT * FROM runs SETTINGS {} FORMAT CSV UNION ALL SELECT 1",
    "EXPLAIN SELECT * FROM (SELECT 1 SETTINGS {})",
    "SELECT tuple(1).1 + 1. SETTINGS {} UNION ALL SELECT 1",
]


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("place", PLACES)
def test_no_setting_gets_into_a_subquery(guard: Guard, clause: str, place: str) -> None:
    with pytest.raises(SqlError):
        guard.check(place.replace("{}", clause))


@pytest.mark.parametrize("clause", [clause for clause in CLAUSES if clause not in ("limit",)])
def test_no_other_setting_stands_at_the_end(guard: Guard, clause: str) -> None:
    named: set[str] = set()
    with contextlib.suppress(SqlError):
        named = set(guard.check(f"SELECT 1 SETTINGS {clause}").settings)
    # A limit may be named: the port lets it be lowered only.
    assert named <= {"final", "max_execution_time", "max_block_size"}


def test_the_short_form_is_read_as_the_engine_reads_it(guard: Guard) -> None:
    checked = guard.check("SELECT 1 SETTINGS final, join_use_nulls = 0, extremes FORMAT CSV")
    assert checked.settings == {"final": 1, "join_use_nulls": 0, "extremes": 1}
    assert (checked.sql, checked.output_format) == ("SELECT 1", "CSV")
    assert guard.check("SELECT * FROM (SELECT 1 SETTINGS final, join_use_nulls = 1)").settings == {}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT settings FROM runs",
        "SELECT s.settings, settings, count() FROM runs AS s WHERE settings = 1 ORDER BY settings",
        "SELECT name FROM system.settings WHERE name = 'x'",
        "SELECT `settings` x FROM runs",
        "SHOW SETTINGS LIKE 'max%'",
        "SHOW CHANGED SETTINGS ILIKE '%x%'",
        "SELECT 1 AS settings",
    ],
)
def test_a_column_may_have_that_name(guard: Guard, sql: str) -> None:
    assert guard.check(sql).sql == sql


def test_a_long_row_of_clauses_is_refused_soon(guard: Guard) -> None:
    started = time.monotonic()
    for text in ("settings final " * 15_000, "settings final, " * 15_000, "format x " * 15_000):
        with pytest.raises(SqlError):
            guard.check(f"SELECT 1 {text} UNION ALL SELECT 1 SETTINGS readonly = 0")
    assert time.monotonic() - started < 30.0


@pytest.mark.parametrize(
    "value", ["'/etc/passwd'", "'../../etc/passwd'", "'file:x'", "'a\nb'", "'Europe/../x'"]
)
@pytest.mark.parametrize(
    "place", ["SELECT 1 SETTINGS session_timezone = {}", "SELECT 1 SETTINGS final, session_timezone = {}"]
)
def test_no_setting_names_a_path(guard: Guard, value: str, place: str) -> None:
    with pytest.raises(SqlError):
        guard.check(place.replace("{}", value))
    assert guard.check(place.replace("{}", "'Europe/Berlin'"))


@pytest.mark.parametrize(
    "table",
    sorted(
        word_set(
            "errors mutations merges detached_parts parts_columns completions processes query_log server_settings "
            "stack_trace user_query_log user_processes statements asynchronous_inserts warnings fail_points query_cache "
            "schema_inference_cache session_query_ids dns_cache"
        )
    ),
)
def test_system_tables_that_show_others_are_shut(guard: Guard, table: str) -> None:
    for name in (f"system.{table}", f"`system`.`{table}`", f"SYSTEM . {table}", f'"system"."{table}"'):
        for place in (
            "SELECT * FROM {}",
            "SELECT * FROM (SELECT * FROM {})",
            "DESCRIBE TABLE {}",
            "SELECT 1 IN {}",
        ):
            with pytest.raises(SqlError, match="is not open"):
                guard.check(place.replace("{}", name))


def test_other_databases_of_a_server_are_shut(guard: Guard) -> None:
    for sql in ("SELECT * FROM others.secrets", "SELECT 1 IN `others`.t", "DESCRIBE TABLE others.t"):
        with pytest.raises(SqlError, match="is not open"):
            guard.check(sql)
    with pytest.raises(SqlError, match="not a name that can be read"):
        guard.check("SELECT * FROM {d:Identifier}.secrets", {"d": "others"})


@pytest.mark.parametrize("name", sorted(ENDLESS_FUNCTIONS))
def test_functions_that_no_limit_ends_are_refused_by_name(guard: Guard, name: str) -> None:
    for written in (name, name.upper(), f"`{name}`"):
        with pytest.raises(SqlError, match="no limit can stop it"):
            guard.check(f"SELECT 1 FROM (SELECT {written}('a', 'b'))")


@pytest.mark.parametrize(
    "view", [view for view in catalogue.views() if view.parameters], ids=lambda view: view.name
)
def test_the_text_that_is_executed_passes_the_guard(guard: Guard, view: catalogue.View) -> None:
    """The guard judges it again with the views put in place; what a view itself may say is not an exception to a rule."""
    given = ", ".join(f"{parameter.name} = '1'" for parameter in view.parameters)
    text = inlined(f"SELECT * FROM {view.name}({given})")
    assert view.name + "(" not in text
    assert guard.check(text, own=own_functions()).sql == text


def test_what_views_call_their_own_is_nothing_of_the_engine(guard: Guard) -> None:
    offered = guard.allowlist.functions | guard.allowlist.table_functions
    assert "words_of" in own_functions()
    assert all(guard.allowlist.callable(name) for name in own_functions() & offered)
    for name in own_functions() - offered:
        with pytest.raises(SqlError, match="no function or view"):
            guard.check(f"SELECT {name}(1)")


LONG = "repeat('ab', 30000)"


@pytest.mark.parametrize(
    "name", ["editDistance", "levenshteinDistance", "editDistanceUTF8", "`editDistance`"]
)
@pytest.mark.parametrize(
    "arguments",
    [
        f"{LONG}, {LONG}",
        f"substring({LONG}, 1, 100), {LONG}",
        f"substring({LONG}, 1, 100), substring({LONG}, 1, 100000)",
        f"substring({LONG}, 1, 100), substring({LONG}, 1, 10) || substring({LONG}, 1, 10)",
        f"substring({LONG}, 1, 100), substring({LONG}, 1, x.1, 100)",
        f"substring({LONG}, 1, 100), concat({LONG}, 1, 100)",
        f"substring({LONG}, 1, 100), substring({LONG}, 1, 1e9)",
        f"substring({LONG}, 1, 100), substring({LONG}, (1, 100))",
        f"{LONG}",
        "",
    ],
)
def test_distances_of_texts_are_those_of_short_pieces(guard: Guard, name: str, arguments: str) -> None:
    with pytest.raises(SqlError, match="takes pieces"):
        guard.check(f"SELECT {name}({arguments})")
    assert guard.check(f"SELECT {name}(substring(a, 1, 200), substringUTF8(concat(b, c), 1, 20)) FROM runs")
