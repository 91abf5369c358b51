"""A server over HTTP: the same tables, rows, parameters and errors as the engine in the process."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from fix_recordings import Recording
from warehouse.engine_server import EngineServer, Fault

from retrospan.ingest.load.landing import insert_records
from retrospan.ingest.log.record import encode
from retrospan.ingest.settings.server_address import parse_server
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.ingest.warehouse.server import ServerStore, ServerWarehouse
from retrospan.queries import catalogue
from retrospan.schemas.errors import SqlError, WarehouseUnavailable
from retrospan.schemas.migrate import Migrations
from retrospan.schemas.sequences import base_of
from retrospan.schemas.store import Escaped

HARD = "a'b\\c\nd\te\r{x}%s%25&=+ü\x00\x01"


@pytest.fixture
def far(remote: ServerWarehouse) -> Iterator[ServerStore]:
    connection = remote.connect()
    yield connection
    connection.close()


def records(requests: list[bytes], first: int = 1) -> bytes:
    """Requests as records of a log."""
    data = bytearray()
    for number, request in enumerate(requests):
        parts, _ = encode(
            arrived_at=time.time_ns(), sequence=first + number, tenant="default", traces=request
        )
        data += b"".join(parts)
    return bytes(data)


def test_tables_and_views_are_made_over_http_and_need_no_second_time(
    remote: ServerWarehouse, far: ServerStore, store: EmbeddedStore
) -> None:
    store.command("DROP DATABASE retrospan")
    store.command("CREATE DATABASE retrospan")
    assert Migrations(far, form=remote.form).apply()
    catalogue.install(far, remote.form)
    assert Migrations(far, form=remote.form).apply() == []
    assert far.rows("SELECT count() FROM runs") == [[0]]
    # A server's tables and views are made otherwise than those that other tests of this process expect.
    store.command("DROP DATABASE retrospan")
    store.command("CREATE DATABASE retrospan")


def test_values_arrive_as_they_are(far: ServerStore) -> None:
    many = [HARD, *(f"trace-{number}" for number in range(2000))]
    row = far.rows(
        "SELECT {a:String}, {b:Array(String)}, {n:UInt64}, {e:Array(UInt8)}, {f:Float64}, {g:Bool}",
        {"a": HARD, "b": many, "n": 2**64 - 1, "e": [], "f": 0.1, "g": True},
    )
    assert row == [[HARD, many, 2**64 - 1, [], 0.1, True]]


def test_what_a_client_escaped_is_passed_on(far: ServerStore) -> None:
    assert far.rows(
        "SELECT {a:String}, {b:Array(String)}", {"a": Escaped("x\\ty"), "b": Escaped("['y']")}
    ) == [["x\ty", ["y"]]]


def test_a_parameter_without_a_place_is_nowhere(far: ServerStore) -> None:
    assert far.rows("SELECT '100 %'", {"unused": "x"}) == [["100 %"]]


@pytest.mark.parametrize(
    "text", ["SELECT '{', '%(x)s'", "SELECT '{}' LIKE '%(x)s'", "SELECT '{y:String}', '%(x)s'"]
)
def test_a_parameter_is_never_written_into_a_statement(far: ServerStore, text: str) -> None:
    """The client does so where it finds no place: `%(x)s` passes the guard, and what came in its stead did not."""
    try:
        found = far.rows(text, {"x": "', file('/etc/passwd'), '", "z": "1"})
    except SqlError as error:
        assert error.code == 456  # {y:String} has no value
    else:
        assert all("root" not in str(value) for value in found[0]) and len(found[0]) <= 2
        assert "%(x)s" in str(found) or found == [[0]]


def test_settings_hold_for_the_statement_or_for_the_connection(far: ServerStore) -> None:
    asked = "SELECT getSetting('max_threads')"
    usual = far.rows(asked)
    assert far.rows(asked, settings={"max_threads": 3}) == [[3]]
    assert far.rows(asked) == usual
    far.keep({"max_threads": 5})
    assert far.rows(asked) == [[5]]


def test_a_setting_that_the_server_does_not_know_is_left_out(far: ServerStore) -> None:
    assert far.rows("SELECT 1", settings={"a_setting_of_a_later_release": 1}) == [[1]]


def test_errors_carry_the_engines_words_and_number(far: ServerStore) -> None:
    with pytest.raises(SqlError) as refused:
        far.rows("SELECT no_such_column")
    assert refused.value.code == 47
    assert str(refused.value).startswith("Code: 47. DB::Exception: ")
    assert "http" not in str(refused.value)
    with pytest.raises(WarehouseUnavailable, match="241"):
        far.rows("SELECT groupArray(number) FROM numbers(10000000)", settings={"max_memory_usage": 1_000_000})


def test_a_refused_login_may_pass_and_shows_no_password(server: EngineServer) -> None:
    wrong = ServerWarehouse(parse_server(server.address, user="me", password="hunter2"))
    with pytest.raises(WarehouseUnavailable, match="Authentication failed") as refused:
        wrong.connect()
    assert "hunter2" not in str(refused.value) + repr(wrong.address)
    wrong.close()


def test_the_schema_of_the_records_travels_with_the_insert(
    server: EngineServer, far: ServerStore, store: EmbeddedStore, recordings: dict[str, Recording]
) -> None:
    requests = list(recordings["langgraph-openinference/multiturn"].traces)
    insert_records(far, records(requests), "token-1")
    told = server.settings[-1]
    assert told["format_schema_source"] == "string"
    assert "message Record" in told["format_schema"] and "//" not in told["format_schema"]
    rows = store.rows("SELECT DISTINCT bitShiftRight(sequence, 40) FROM arrivals")
    assert rows == [[3]]
    near = far.rows("SELECT * EXCEPT (sequence, arrived_at) FROM raw_spans FINAL ORDER BY ALL")
    store.command("TRUNCATE TABLE raw_spans")
    insert_records(store, records(requests), "token-2")
    assert store.rows("SELECT * EXCEPT (sequence, arrived_at) FROM raw_spans FINAL ORDER BY ALL") == near


def test_a_server_that_reads_no_schema_from_an_insert_is_asked_for_its_own(far: ServerStore) -> None:
    from retrospan.ingest.load.landing import schema_path
    from retrospan.ingest.warehouse.accompanying import schema_settings

    named: dict[str, str | int] = {"format_schema": f"{schema_path()}:Record", "async_insert": 0}
    assert schema_settings(named, known=()) == {"format_schema": "otlp_log.proto:Record", "async_insert": 0}
    assert schema_settings({"async_insert": 0}, known=()) == {"async_insert": 0}


def test_the_same_token_again_adds_nothing(
    server: EngineServer, far: ServerStore, recordings: dict[str, Recording]
) -> None:
    data = records(list(recordings["langgraph-openinference/multiturn"].traces))
    for _ in range(3):
        insert_records(far, data, "the-token")
    assert server.tokens[-3:] == ["the-token"] * 3
    (twice,) = far.rows("SELECT count(), uniqExact(span_id, content_hash) FROM raw_spans")
    assert twice[0] == twice[1]


@pytest.mark.requirement("R10")
def test_an_insert_cut_after_the_commit_is_not_repeated_below_us(
    server: EngineServer, far: ServerStore, recordings: dict[str, Recording]
) -> None:
    """Rows without a token would be there twice. The one who inserts says whether it may be tried again."""
    server.fault = Fault(cut=1)
    before = server.counted["INSERT"]
    with pytest.raises(WarehouseUnavailable):
        far.insert("INSERT INTO leases (part, holder, state)", b'[1,"a","held"]\n', "JSONCompactEachRow")
    assert server.counted["INSERT"] - before == 1
    assert far.rows("SELECT count() FROM leases") == [[1]]


@pytest.mark.long
@pytest.mark.requirement("R10")
def test_a_server_that_hangs_is_given_up_in_time(server: EngineServer, impatient: ServerWarehouse) -> None:
    connection = impatient.connect()
    server.fault = Fault(hang=True)
    began = time.monotonic()
    with pytest.raises(WarehouseUnavailable):
        connection.rows("SELECT 1")
    assert time.monotonic() - began < 60
    server.fault = Fault()
    connection.close()


@pytest.mark.parametrize("code", [202, 242, 319, 999])
def test_trouble_that_passes_blames_no_data(server: EngineServer, far: ServerStore, code: int) -> None:
    server.fault = Fault(refuse=code)
    with pytest.raises(WarehouseUnavailable):
        far.insert("INSERT INTO landing", b"", "Protobuf")


def test_connections_are_used_again(server: EngineServer, remote: ServerWarehouse) -> None:
    for _ in range(3):
        connection = remote.connect()
        connection.rows("SELECT 1")
        connection.close()
        connection.close()
    counted = server.counted["SELECT"]
    connection = remote.connect()
    assert server.counted["SELECT"] == counted, (
        "a connection that was given back asks nothing when it is taken again"
    )
    connection.close()


def test_sequences_of_logs_do_not_meet() -> None:
    assert base_of(3) + (1 << 40) - 1 < base_of(4)
