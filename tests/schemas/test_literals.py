"""Whatever a value holds, the engine reads it back: as a parameter, and as a literal in a statement."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse
from retrospan.schemas.literals import literal, parameter_text
from retrospan.schemas.store import Escaped

HOSTILE = "it's \\ a\tb\nc\rd\0e\bf\fg \\N [1, 'x'] {v:String} -- /* ; 日本 \U0001f600"
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
BYTES = st.binary()
MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2261, 1, 1))
PROPERTY = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def reading(engine: EmbeddedWarehouse) -> EmbeddedStore:
    return engine.connect()


def read(store: EmbeddedStore, kind: str, value: object) -> list[object]:
    """The value as the engine has it, sent in both ways."""
    sent = store.rows(f"SELECT {{v:{kind}}} AS v", {"v": value})  # type: ignore[dict-item]  # any value
    put = store.rows(f"SELECT CAST({literal(value)}, '{kind}') AS v")  # type: ignore[arg-type]  # any value
    return [sent[0][0], put[0][0]]


@PROPERTY
@given(TEXT)
@example(HOSTILE)
@example("")
@example("\\N")
@example("NULL")
def test_text(reading: EmbeddedStore, value: str) -> None:
    assert read(reading, "String", value) == [value, value]


@PROPERTY
@given(BYTES)
@example(bytes(range(256)))
@example(b"'\xff\\")
def test_bytes(reading: EmbeddedStore, value: bytes) -> None:
    (sent,) = reading.rows("SELECT hex({v:String})", {"v": value})
    (put,) = reading.rows(f"SELECT hex({literal(value)})")
    assert sent == put == [value.hex().upper()]
    as_text = value.decode("utf-8", "surrogateescape")
    assert parameter_text(as_text) == parameter_text(value)


@PROPERTY
@given(st.lists(TEXT))
@example([HOSTILE, "", "x"])
def test_arrays_of_text(reading: EmbeddedStore, values: list[str]) -> None:
    assert read(reading, "Array(String)", values) == [values, values]


@PROPERTY
@given(st.lists(TEXT))
@example([HOSTILE, "", "x"])
def test_arrays_of_text_that_are_written_as_literals(reading: EmbeddedStore, values: list[str]) -> None:
    """As people type them: quotes and backslashes mean in the literal what they mean in a statement."""
    for kind, text, expected in (
        ("Array(String)", literal(values), values),
        ("Tuple(Array(String), String)", f"({literal(values)}, 'it')", [values, "it"]),
        ("Map(String, Array(String))", "{'it\\'s': " + literal(values) + "}", {"it's": values}),
    ):
        (row,) = reading.rows(f"SELECT {{v:{kind}}} AS v", {"v": Escaped(text)})
        assert row == [expected]


@PROPERTY
@given(st.lists(st.text("ab 日_,[]{}()"), max_size=4))
def test_a_quote_in_a_text_stays_a_quote(reading: EmbeddedStore, values: list[str]) -> None:
    """Callers that write an array as text without escapes of their own are understood as well."""
    text = "[" + ",".join(f"'{value}'" for value in values) + "]"
    assert reading.rows("SELECT {v:Array(String)} AS v", {"v": text}) == [[values]]


@PROPERTY
@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_arrays_of_numbers(reading: EmbeddedStore, values: list[int]) -> None:
    assert read(reading, "Array(Int64)", values) == [values, values]


@PROPERTY
@given(st.lists(st.none() | TEXT))
@example([None, "NULL", "\\N"])
def test_arrays_with_nulls(reading: EmbeddedStore, values: list[str | None]) -> None:
    assert read(reading, "Array(Nullable(String))", values) == [values, values]


@PROPERTY
@given(st.lists(st.lists(TEXT)))
def test_arrays_of_arrays(reading: EmbeddedStore, values: list[list[str]]) -> None:
    assert read(reading, "Array(Array(String))", values) == [values, values]


@PROPERTY
@given(MOMENTS)
def test_times(reading: EmbeddedStore, value: datetime) -> None:
    microseconds = (value - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    asked = "SELECT toUnixTimestamp64Micro({v:DateTime64(6, 'UTC')})"
    assert reading.rows(asked, {"v": value}) == [[microseconds]]  # type: ignore[dict-item]
    aware = value.replace(tzinfo=UTC)
    asked = f"SELECT toUnixTimestamp64Micro(parseDateTime64BestEffort({literal(aware)}, 6, 'UTC'))"
    assert reading.rows(asked) == [[microseconds]]


@PROPERTY
@given(st.booleans() | st.none())
def test_flags_and_nothing(reading: EmbeddedStore, value: bool | None) -> None:
    assert read(reading, "Nullable(Bool)", value) == [value, value]


@PROPERTY
@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers(reading: EmbeddedStore, value: int) -> None:
    assert read(reading, "Int64", value) == [value, value]


@PROPERTY
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers(reading: EmbeddedStore, value: float) -> None:
    # JSON has one kind of number: a whole one comes back without its point.
    assert [float(str(found)) for found in read(reading, "Float64", value)] == [value, value]


def test_what_is_written_already_is_left_alone() -> None:
    assert parameter_text(Escaped("a\\tb")) == "a\\tb"
