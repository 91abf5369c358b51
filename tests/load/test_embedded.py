"""The embedded engine: values and data arrive as they are, and nothing stored is ever run."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse, owner_of
from retrospan.ingest.warehouse.rows import insert_rows
from retrospan.ingest.warehouse.statements import settings_list
from retrospan.schemas.canonical import EdgeRow, RunRow
from retrospan.schemas.errors import MissingExtra, SqlError, WarehouseUnavailable

engine_settings = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@engine_settings
@given(
    text=st.text(),
    texts=st.lists(st.text(), max_size=4),
    numbers=st.lists(st.integers(0, 2**64 - 1), max_size=4),
)
def test_parameters_arrive_as_they_are(
    store: EmbeddedStore, text: str, texts: list[str], numbers: list[int]
) -> None:
    found = store.rows(
        "SELECT {text:String}, {texts:Array(String)}, {numbers:Array(UInt64)}, {yes:Bool}",
        {"text": text, "texts": texts, "numbers": numbers, "yes": True},
    )
    assert found == [[text, texts, numbers, True]]


@dataclass(slots=True)
class Note:
    at: int | None
    text: str


@pytest.fixture
def notes(store: EmbeddedStore) -> EmbeddedStore:
    store.command("DROP TABLE IF EXISTS notes")
    store.command("CREATE TABLE notes (at Nullable(DateTime64(9, 'UTC')), text String) ENGINE = Memory")
    return store


@engine_settings
@given(
    at=st.one_of(st.none(), st.integers(0, 2**63 - 1), st.integers(0, 10**10)),
    text=st.one_of(st.text(), st.binary().map(lambda data: data.decode("utf-8", "surrogateescape"))),
)
def test_rows_land_exactly(notes: EmbeddedStore, at: int | None, text: str) -> None:
    notes.command("TRUNCATE TABLE notes")
    insert_rows(notes, "notes", [Note(at, text)])
    assert notes.rows("SELECT toUnixTimestamp64Nano(at), text FROM notes") == [[at, text]]


@pytest.mark.parametrize(("given_at", "stored"), [(-5, 0), (2**64 - 1, 2**63 - 1)])
def test_a_time_that_no_column_holds_becomes_the_nearest(
    notes: EmbeddedStore, given_at: int, stored: int
) -> None:
    insert_rows(notes, "notes", [Note(given_at, "")])
    assert notes.rows("SELECT toUnixTimestamp64Nano(at) FROM notes") == [[stored]]


def test_stored_text_is_never_run(notes: EmbeddedStore) -> None:
    # Inline data would end at the empty line, and the rest would be run.
    attack = b'[null, "a"]\n\nDROP TABLE notes\n'
    with pytest.raises(SqlError):
        notes.insert("INSERT INTO notes", attack, "JSONCompactEachRow")
    insert_rows(notes, "notes", [Note(None, "\n\nDROP TABLE notes;\n\n")])
    assert notes.rows("SELECT text FROM notes") == [["\n\nDROP TABLE notes;\n\n"]]


def test_canonical_rows_keep_null_and_large_numbers(store: EmbeddedStore) -> None:
    edge = EdgeRow(
        tenant="default",
        run_id="r",
        generation=2**64 - 1,
        subject="s",
        relation="used",
        object="o",
        role=None,
        evidence="stated",
        step=None,
        at=1_732_188_696_123_456_789,
    )
    insert_rows(store, "canon_edges", [edge, edge])
    found = store.rows("SELECT generation, role, step, toUnixTimestamp64Nano(at) FROM canon_edges")
    assert found == [[2**64 - 1, None, None, 1_732_188_696_123_456_789]] * 2


def test_a_row_that_the_table_refuses_writes_none(store: EmbeddedStore) -> None:
    with pytest.raises(SqlError):
        insert_rows(store, "canon_runs", [Note(None, "no such columns")])
    insert_rows(store, "canon_runs", list[RunRow]())
    assert store.rows("SELECT count() FROM canon_runs") == [[0]]


def test_an_error_says_its_number(store: EmbeddedStore) -> None:
    with pytest.raises(SqlError) as caught:
        store.query("SELECT 1 FROM no_such_table")
    assert caught.value.code == 60
    assert store.rows("SELECT 1") == [[1]]


def test_settings_hold_for_one_statement(store: EmbeddedStore) -> None:
    read = "SELECT toString(getSetting('max_block_size'))"
    before = store.rows(read)
    assert store.rows(read, settings={"max_block_size": 17}) == [["17"]]
    assert store.rows(read) == before
    assert settings_list({"format_schema": "it's"}) == "format_schema = 'it\\'s'"
    with pytest.raises(SqlError):
        settings_list({"a = 1, b": 2})


def test_connections_have_their_own_limits(warehouse: EmbeddedWarehouse) -> None:
    limited, free = warehouse.connect({"max_result_rows": 1}), warehouse.connect()
    statement = "SELECT number FROM numbers(3)"
    with pytest.raises(SqlError):
        limited.rows(statement)
    assert free.rows(statement) == [[0], [1], [2]]
    for store in (limited, free):
        store.close()
        store.close()
    with pytest.raises(WarehouseUnavailable):
        free.rows("SELECT 1")


def test_a_second_process_is_told_who_owns_the_directory(
    engine: EmbeddedWarehouse, store: EmbeddedStore
) -> None:
    assert store.rows("SELECT 1") == [[1]]
    assert owner_of(engine.path) is None  # ourselves
    program = (
        "import sys; from pathlib import Path\n"
        "from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse\n"
        "from retrospan.schemas.errors import DirectoryInUse\n"
        "try: EmbeddedWarehouse(Path(sys.argv[1])).connect()\n"
        "except DirectoryInUse as error: print(error.pid)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(engine.path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.stdout.strip() == str(os.getpid()), found.stderr


def test_a_missing_extra_names_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "chdb", None)
    with pytest.raises(MissingExtra, match=r'pip install "retrospan\[embedded\]"'):
        EmbeddedWarehouse(tmp_path / "warehouse").connect()


@pytest.mark.long
def test_the_engine_is_loaded_without_what_nobody_asks_for_and_leaves_that_usable(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
warehouse = EmbeddedWarehouse(Path(sys.argv[1]))
store = warehouse.connect()
assert store.rows("SELECT 1") == [[1]]
assert "pyarrow" not in sys.modules
import pyarrow
assert pyarrow.array([1]).to_pylist() == [1]
warehouse.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "warehouse")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
