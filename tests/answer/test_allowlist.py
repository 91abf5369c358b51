"""The guard with the real engine's vocabulary: what clients, questions and views ask passes, what reaches out does not."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from retrospan.ingest.answer.guard.allowlist import SYSTEM_TABLES, TABLE_FUNCTIONS, Allowlist, harmless
from retrospan.ingest.answer.guard.guard import Guard
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.errors import SqlError

QUERIES = Path(str(resources.files("retrospan.queries")))
PARAMETER = re.compile(r"\{(\w+):")


def shipped(folder: str) -> list[Path]:
    return sorted((QUERIES / folder).glob("*.sql"))


@pytest.fixture(scope="module")
def guard(engine: EmbeddedWarehouse) -> Guard:
    """The guard as the port has it, with the shipped views as if installed."""
    store = engine.connect()
    read = Allowlist.read(store)
    store.close()
    views = {
        file.stem: tuple(
            dict.fromkeys(PARAMETER.findall(re.sub(r"--.*", "", file.read_text(encoding="utf-8"))))
        )
        for file in shipped("views")
    }
    return Guard(replace(read, views=views))


@pytest.mark.parametrize("file", shipped("questions"), ids=lambda file: file.stem)
def test_the_questions_we_ship_may_be_asked(guard: Guard, file: Path) -> None:
    assert guard.check(file.read_text(encoding="utf-8")).sql


@pytest.mark.parametrize("file", shipped("views"), ids=lambda file: file.stem)
def test_the_examples_of_the_views_may_be_asked(guard: Guard, file: Path) -> None:
    examples = re.findall(r"^-- example: (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert examples
    for example in examples:
        assert guard.check(example).sql


@pytest.mark.parametrize(
    "text",
    [
        "SELECT name, database FROM system.tables WHERE database NOT IN ('system')",
        "SELECT database, name, type FROM system.columns WHERE table = 'runs'",
        "SELECT name, value, changed, description, type, readonly FROM system.settings LIMIT 10000",
        "SELECT version(), timezone(), currentDatabase(), hostName(), currentUser(), displayName(), revision()",
        "SELECT * FROM information_schema.tables",
        "SELECT quantileTDigestIf(0.95)(a, b), uniqExactIf(a, b), sumMapMerge(x), groupArrayArrayIf(5)(a, b) FROM runs",
        "SELECT toStartOfInterval(started_at, INTERVAL 1 hour) AS t, count() FROM runs GROUP BY t ORDER BY t WITH FILL",
        "SELECT arrayMap((x, y) -> x + y, [1], [2]), tuple(1)::Tuple(UInt8), CAST(1, 'Decimal(9, 2)'), DATE_ADD(now(), INTERVAL 1 DAY)",
        "SELECT * EXCEPT (a) REPLACE (1 AS b), COLUMNS('x') APPLY(sum) FROM runs ARRAY JOIN trace_ids AS t LEFT JOIN (SELECT 1) AS z ON 1",
        "SELECT extract(DAY FROM now()), substring('a', 1), trim(BOTH ' ' FROM 'a'), position('a' IN 'b'), if(1, 2, 3), CASE WHEN (1) THEN (2) ELSE (3) END",
        "SELECT row_number() OVER (PARTITION BY a ORDER BY b), lagInFrame(a) OVER w FROM runs WINDOW w AS (ORDER BY a)",
        "SELECT a FROM runs GROUP BY GROUPING SETS ((a), (b)) HAVING (count() > 1) QUALIFY (1) LIMIT 1 BY a",
        "SELECT format('{}', 1), JSONExtract(x, 'Map(String, Array(Nullable(Float64)))') FROM values('x String', ('{}'))",
        "SELECT * FROM run_state(run_id = {run_id:String}, step = {step:UInt32})",
        "SELECT (SELECT max(number) FROM numbers(5)), EXISTS (SELECT 1), 1 IN (1, 2), NOT (1), - (1)",
    ],
)
def test_what_clients_ask_passes(guard: Guard, text: str) -> None:
    assert guard.check(text).sql == text


def test_every_other_table_function_of_the_engine_is_refused(guard: Guard, engine: EmbeddedWarehouse) -> None:
    store = engine.connect()
    known = {str(row[0]) for row in store.rows("SELECT name FROM system.table_functions")}
    store.close()
    assert {"file", "url", "s3", "python", "remote", "sqlite"} <= known
    for name in known - {"format"}:
        if name.casefold() in TABLE_FUNCTIONS:
            continue
        for text in (
            f"SELECT * FROM {name}('x')",
            f"DESCRIBE TABLE `{name}` ('x')",
            f"SELECT 1 IN {name.upper()}(1)",
        ):
            with pytest.raises(SqlError):
                guard.check(text)


def test_functions_that_reach_out_are_refused(guard: Guard, engine: EmbeddedWarehouse) -> None:
    """By what the engine says of them, so that a new one of a later engine fails here and is looked at."""
    store = engine.connect()
    reaching = store.rows(
        "SELECT name FROM system.functions WHERE categories IN ('AI', 'Dictionary') "
        "OR match(lower(description), 'contents? of a file|reads? (a |the )?file|llm provider|sleep|pauses')"
    )
    store.close()
    assert len(reaching) > 40
    passed = [str(row[0]) for row in reaching if guard.allowlist.callable(str(row[0]).casefold())]
    assert passed == []


def test_system_tables_are_real_and_show_no_secrets(store: EmbeddedStore) -> None:
    real = {str(row[0]) for row in store.rows("SELECT name FROM system.tables WHERE database = 'system'")}
    assert real >= SYSTEM_TABLES
    assert not SYSTEM_TABLES & {
        "users",
        "processes",
        "server_settings",
        "named_collections",
        "disks",
        "query_log",
    }


def test_harmless_settings_are_real_and_write_no_files(store: EmbeddedStore) -> None:
    rows = store.rows("SELECT name, description FROM system.settings")
    allowed = {str(name): str(description) for name, description in rows if harmless(str(name))}
    assert len(allowed) > 50
    writing = [
        name
        for name, text in allowed.items()
        if re.search(r"path to a|saved to|will be saved|to the file", text)
    ]
    assert writing == []
