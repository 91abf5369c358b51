"""SET, USE and `database` as clients of ClickHouse send them; what they cannot reach."""

from __future__ import annotations

import json

import clickhouse_connect
import pytest
from answer.conftest import Port

from retrospan.ingest.answer.rewriting.databases import qualified
from retrospan.ingest.answer.sessions import MOST_SESSIONS, Sessions
from retrospan.ingest.http.messages import Request
from retrospan.schemas.errors import SqlError

NULLS = "SELECT a, x FROM (SELECT 1 AS a) AS l LEFT JOIN (SELECT 2 AS a, 'y' AS x) AS r USING a"


def asked(statement: str, **said: str) -> Request:
    return Request("POST", "/", {"query": statement, **said}, {}, b"", False)


def test_what_is_set_holds_for_its_session_and_no_other(port: Port) -> None:
    assert port.sql(NULLS)[1] == b"1\t\n"
    assert port.sql("SET join_use_nulls = 1, output_format_json_quote_64bit_integers = 1", session_id="a")[
        :2
    ] == (200, b"")
    assert port.sql(NULLS, session_id="a")[1] == b"1\t\\N\n"
    for elsewhere in ({}, {"session_id": "b"}):
        assert port.sql(NULLS, **elsewhere)[1] == b"1\t\n"
    # The address has the last word, and a SET changes only what it names.
    assert port.sql(NULLS, session_id="a", join_use_nulls="0")[1] == b"1\t\n"
    assert port.sql("set join_use_nulls = 0;", session_id="a")[0] == 200
    assert port.sql(NULLS, session_id="a")[1] == b"1\t\n"
    numbers = json.loads(port.sql("SELECT toUInt64(1) AS n FORMAT JSON", session_id="a")[1])
    assert numbers["data"] == [{"n": "1"}]
    # Without a session it ends with its request.
    assert port.sql("SET join_use_nulls = 1")[:2] == (200, b"")
    assert port.sql(NULLS)[1] == b"1\t\n"


def test_settings_of_writing_are_taken_and_mean_nothing(port: Port) -> None:
    """As dbt sets them for everything that it does."""
    of_writing = {"mutations_sync": "3", "alter_sync": "3", "insert_distributed_sync": "1"}
    client = clickhouse_connect.get_client(host="127.0.0.1", port=port.number, settings=of_writing)
    try:
        assert client.query("SELECT 1").result_rows == [(1,)]
        client.command("SET mutations_sync = 0")
        with pytest.raises(Exception, match="READONLY"):
            client.command("CREATE TABLE t (a Int8) ENGINE Memory")
    finally:
        client.close()
    asked_of = "SELECT value FROM system.settings WHERE name = 'mutations_sync'"
    before = port.sql(asked_of)[1]
    assert before not in (b"", b"3\n")
    assert port.sql(f"{asked_of} SETTINGS mutations_sync = 3")[1] == before
    assert port.sql(asked_of, mutations_sync="3")[1] == before


def test_a_limit_is_kept_or_refused(port: Port) -> None:
    shown = "SELECT value FROM system.settings WHERE name = 'max_execution_time'"
    assert port.sql(shown, max_execution_time="2.5")[1].startswith(b"2")
    assert port.sql(shown, max_execution_time="")[0] == 200
    for wrong in ("abc", "-1", "1e3", "²"):
        for asked_for in ({"max_execution_time": wrong}, {"max_result_rows": wrong}):
            status, said, _ = port.sql(shown, **asked_for)
            assert status == 400 and b"Code: 72" in said and b"is not a number" in said, wrong
    assert port.sql(shown, max_result_rows="2.5")[0] == 400
    assert port.sql(f"{shown} SETTINGS max_execution_time = 'abc'")[0] == 400


def test_a_session_that_is_not_there_is_told_when_asked_for(port: Port) -> None:
    status, body, _ = port.sql("SELECT 1", session_id="nobody", session_check="1")
    assert status == 404 and b"Code: 372" in body and b"SESSION_NOT_FOUND" in body
    assert port.sql("SELECT 1", session_id="nobody")[0] == 200
    assert port.sql("SELECT 1", session_id="nobody", session_check="1")[0] == 200


def test_sessions_are_bounded_in_number_age_and_size_and_belong_to_a_token() -> None:
    now = [100.0]
    sessions = Sessions(lambda: now[0])
    for number in range(MOST_SESSIONS + 50):
        sessions.told(asked("SET final = 1", session_id=str(number)), "one")
    assert len(sessions) == MOST_SESSIONS
    last = str(MOST_SESSIONS + 49)
    assert sessions.told(asked("SELECT 1", session_id="0"), "one") == asked("SELECT 1", session_id="0")
    known = sessions.told(asked("SELECT 1", session_id=last), "one")
    assert known is not None and known.query["final"] == "1"
    other = sessions.told(asked("SELECT 1", session_id=last), "another")
    assert other is not None and "final" not in other.query
    now[0] += 61
    gone = sessions.told(asked("SELECT 1", session_id=last), "one")
    assert gone is not None and "final" not in gone.query
    assert len(sessions) == 1
    sessions.told(asked("SET final = 1", session_id=last, session_timeout="999999999"), "one")
    now[0] += 3599
    assert len(sessions) == 1
    with pytest.raises(SqlError, match="at most 200 settings"):
        many = ", ".join(f"output_format_{number} = 1" for number in range(201))
        sessions.told(asked(f"SET {many}", session_id=last), "one")
    with pytest.raises(SqlError, match="at most 200 characters"):
        sessions.told(asked("SELECT 1", session_id="x" * 201), "one")


REFUSED = [
    ("SET readonly = 0", "readonly cannot be set"),
    ("SET allow_ddl = 1", "allow_ddl cannot be set"),
    ("SET allow_introspection_functions = 1", "cannot be set"),
    ("SET output_format_schema = 'x'", "output_format_schema cannot be set"),
    ("SET final = 1, readonly = 0", "readonly cannot be set"),
    ("SET session_timezone = '/etc/passwd'", "not a valid value"),
    ("SET final = '\\x31'", "backslash"),
    ("SET final", "a list of"),
    ("SET final = 1 SELECT 1", "a list of"),
    ("SET final = (SELECT 1)", "a list of"),
    ("SET", "a list of"),
    ("SET ROLE admin", "a list of"),
    ("USE", "one database"),
    ("USE retrospan; DROP TABLE answer_sample", "one database"),
    ("USE secrets", "no database secrets"),
]


def test_what_may_not_be_said_in_an_address_may_not_be_set(port: Port) -> None:
    for statement, said in REFUSED:
        status, body, _ = port.sql(statement, session_id="attack")
        assert status >= 400 and said in body.decode(), statement
        assert port.sql("SELECT count() FROM answer_sample", session_id="attack")[1] == b"10\n", statement


def test_a_limit_is_lowered_by_a_session_and_never_raised(port: Port) -> None:
    assert port.sql("SET max_result_rows = 5", session_id="low")[0] == 200
    assert port.sql("SELECT number FROM numbers(10)", session_id="low")[0] >= 400
    assert port.sql("SET max_execution_time = 1000000, max_result_rows = 0", session_id="high")[0] == 200
    shown = "SELECT getSetting('max_execution_time')"
    assert port.sql(shown, session_id="high")[1] == port.sql(shown)[1] == b"60\n"


def test_a_database_is_used_as_its_own_names_and_no_others(port: Port) -> None:
    for said in ({"database": "system"}, {"session_id": "s"}):
        if "session_id" in said:
            assert port.sql("USE system", **said)[0] == 200
        assert port.sql("SELECT count() > 100 FROM functions", **said)[1] == b"1\n"
        assert b"\none\n" in port.sql("SHOW TABLES", **said)[1]
        assert b"dummy" in port.sql("DESCRIBE one", **said)[1]
        for query in ("SELECT * FROM users", "SELECT * FROM grants", "SELECT * FROM `query_log`"):
            status, body, _ = port.sql(query, **said)
            assert status >= 400, (query, body)
        assert b"system.users is not open" in port.sql("SELECT * FROM system.users", **said)[1]
    standard = port.sql("SELECT count() > 0 FROM tables", database="information_schema")
    assert standard[1] == b"1\n"
    assert port.sql("SELECT 1", database="secrets")[0] == 404
    assert port.sql("USE default", session_id="d")[0] == 200
    assert port.sql("SELECT count() FROM answer_sample", session_id="d")[1] == b"10\n"


@pytest.mark.parametrize(
    ("query", "written"),
    [
        (
            "SELECT name FROM tables JOIN columns USING name",
            "SELECT name FROM system.tables JOIN system.columns USING name",
        ),
        ("WITH tables AS (SELECT 1) SELECT * FROM tables", "WITH tables AS (SELECT 1) SELECT * FROM tables"),
        ("SELECT extract(DAY FROM tables) FROM x", "SELECT extract(DAY FROM tables) FROM x"),
        ("SELECT 1 FROM numbers(3)", "SELECT 1 FROM numbers(3)"),
        ("SELECT 1 FROM retrospan.runs, users", "SELECT 1 FROM retrospan.runs, users"),
        ("SELECT 'FROM tables'", "SELECT 'FROM tables'"),
    ],
)
def test_only_names_of_tables_are_qualified(query: str, written: str) -> None:
    assert qualified(query, "system") == written


def test_a_dollar_in_a_parameter_is_what_it_is_in_clickhouse(port: Port) -> None:
    assert port.sql("SELECT {a$b:String}", **{"param_a$b": "it's"})[1] == b"it\\'s\n"
    assert (
        port.sql(
            "SELECT {foo$x$bar:UInt8}, {$x$:UInt8}, {$1:UInt8}, {13_:UInt8}",
            **{
                "param_foo$x$bar": "1",
                "param_$x$": "2",
                "param_$1": "3",
                "param_13_": "4",
            },
        )[1]
        == b"1\t2\t3\t4\n"
    )
    assert port.sql("SELECT {$x$:String}, $x$file('/etc/passwd')$x$", **{"param_$x$": "a"})[0] >= 400
    assert port.sql("SELECT 1 AS a$b$ FORMAT TSVWithNames")[1] == b"a$b$\n1\n"
    assert port.sql("SELECT $x$file('/etc/passwd')$x$")[1] == b"file(\\'/etc/passwd\\')\n"
    for query in (
        "SELECT a$x$ file('/etc/passwd') $x$",
        "SELECT file$('/etc/passwd')",
        "SELECT a$$file('/etc/passwd')$$",
    ):
        assert port.sql(query)[0] >= 400, query
    for name in ("$", "13", "a-b"):
        assert b"not a parameter name" in port.sql("SELECT 1", **{f"param_{name}": "x"})[1]


def test_clickhouse_connect_may_give_settings(port: Port) -> None:
    client = clickhouse_connect.get_client(
        host="127.0.0.1", port=port.number, settings={"join_use_nulls": 1, "max_result_rows": 5}
    )
    try:
        assert client.query(NULLS).result_rows == [(1, None)]
        assert client.query(
            "SELECT 1", settings={"output_format_json_quote_64bit_integers": 1}
        ).result_rows == [(1,)]
        shown = client.query(
            "SELECT name, readonly FROM system.settings WHERE name IN ('readonly', 'final') ORDER BY name"
        )
        assert shown.result_rows == [("final", 0), ("readonly", 1)]
        with pytest.raises(Exception, match="readonly"):
            client.query("SELECT 1", settings={"allow_ddl": 1})
    finally:
        client.close()
