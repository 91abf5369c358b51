"""The guard: what may be asked, and that nothing else passes whatever surrounds it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrospan.ingest.answer.guard.allowlist import Allowlist
from retrospan.ingest.answer.guard.guard import Guard
from retrospan.ingest.answer.guard.lexer import tokens
from retrospan.schemas.errors import SqlError

GUARD = Guard(
    Allowlist(
        functions=frozenset(
            [
                "count",
                "sum",
                "argmax",
                "lower",
                "format",
                "file",
                "sleep",
                "dictget",
                "aigenerate",
                "joinget",
                "if",
                "map",
            ]
        ),
        combinators=("if", "ornull", "state"),
        types=frozenset(["array", "string", "uint32", "nullable"]),
        table_functions=frozenset(
            ["file", "url", "s3", "remote", "sqlite", "python", "executable", "eval", "mysql"]
        ),
        views={"runs": (), "run_state": ("run_id", "step")},
    )
)

READING = [
    "SELECT 1",
    " select\t1 ;\n",
    "(SELECT 1) UNION ALL (SELECT 2)",
    "WITH x AS (SELECT 1 AS a) SELECT * FROM x JOIN runs AS r ON r.run_id = x.a",
    "SELECT count(), sumIf(a, b), argMaxIfOrNull(a, b, c), Lower('INTO OUTFILE file(') FROM runs",
    "SELECT * FROM run_state(run_id = 'ab', step = 3)",
    "SELECT * FROM retrospan.run_state(step = 3, run_id = lower('AB')) WHERE key IN ('a', 'b')",
    "SELECT $$insert into t$$, $x$ file('/etc/passwd'); $x$",
    'SELECT `insert`, "drop" FROM numbers(3), numbers(4)',
    "SELECT 'it''s', 'it\\'s' -- ; DROP TABLE t",
    "SELECT /* ; DROP /* nested */ */ 1",
    "SELECT name FROM system.tables WHERE database = 'retrospan'",
    "SELECT CAST(a AS Array(Nullable(String))), a::UInt32, {x:Array(String)}, [1][1], (1, 2).1, {'a': 1} FROM runs",
    "SELECT * FROM merge('^runs$')",
    "SELECT * FROM merge('retrospan', '^runs$')",
    "SHOW TABLES",
    "SHOW CREATE VIEW runs",
    "DESCRIBE TABLE (SELECT 1)",
    "DESC runs",
    "EXISTS TABLE runs",
    "EXPLAIN PLAN actions = 1, indexes = 1 SELECT 1",
    "EXPLAIN (SELECT 1)",
    "SELECT sum(a) OVER (PARTITION BY b ORDER BY c) FROM runs",
    "SELECT insert FROM runs",
    "SELECT 1 AS sample, `sample` 2, sample.1, s AS sample FROM runs AS sample LIMIT 1",
    "WITH insert AS (SELECT 13 AS n) SELECT * FROM insert",
    "WITH 13 AS insert SELECT insert",
    "WITH rows(a, `b`) AS (SELECT 1, 2), sleep(c) AS (SELECT 3) SELECT a, b, c FROM rows, sleep",
    "WITH RECURSIVE rows(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows WHERE n < 3) SELECT n FROM rows",
    "SELECT {$x:Int32}, {$y$:String}, {a$z$b:String}, {13_:Int32}",
]


@pytest.mark.parametrize("text", READING)
def test_reading_statements_pass(text: str) -> None:
    checked = GUARD.check(text)
    assert checked.sql
    assert GUARD.check(checked.sql) == checked


# (statement, a piece of what must be said)
FORBIDDEN = [
    ("INSERT INTO runs VALUES (1)", "8123 is read-only: INSERT is refused"),
    ("FROM runs SELECT count()", "a statement that begins with FROM is not taken here. Begin it with SELECT"),
    ("DROP TABLE runs", "DROP is refused"),
    ("CREATE TABLE t (a Int8) ENGINE = Memory", "CREATE is refused"),
    ("ALTER TABLE runs DELETE WHERE 1", "ALTER is refused"),
    ("TRUNCATE TABLE runs", "TRUNCATE is refused"),
    ("SYSTEM SHUTDOWN", "SYSTEM is refused"),
    ("KILL QUERY WHERE 1", "KILL is refused"),
    ("USE system", "USE is refused"),
    ("SET readonly = 0", "SET is refused"),
    ("OPTIMIZE TABLE runs FINAL", "OPTIMIZE is refused"),
    ("ATTACH TABLE t", "ATTACH is refused"),
    ("DELETE FROM runs WHERE 1", "DELETE is refused"),
    ("GRANT ALL ON *.* TO me", "GRANT is refused"),
    ("BACKUP DATABASE retrospan TO File('/x')", "is refused"),
    ("SELECT 1; DROP TABLE runs", "one statement"),
    ("SELECT 1;; SELECT 2", "one statement"),
    ("SELECT 1 INTO OUTFILE '/tmp/x'", "INTO OUTFILE is refused"),
    ("SELECT 1 INTO OUTFILE '/tmp/x' AND STDOUT FORMAT CSV", "INTO OUTFILE is refused"),
    ("WITH x AS (SELECT 1) INSERT INTO runs SELECT * FROM x", "read-only"),
    ("WITH 1 AS x INSERT runs SELECT x", "INSERT is refused"),
    ("WITH insert AS (SELECT 1) INSERT runs SELECT * FROM insert", "INSERT is refused"),
    ("WITH 1 AS x, 2 AS y INSERT INTO runs SELECT x", "INSERT is refused"),
    ("WITH rows(a) AS (SELECT sleep(3)) SELECT a FROM rows", "sleep() is refused"),
    ("WITH rows(sleep(3)) AS (SELECT 1) SELECT 1", "no function or view rows()"),
    ("WITH sleep(a) AS x SELECT 1", "sleep() is refused"),
    ("SELECT sleep(a) AS (SELECT 1)", "sleep() is refused"),
    ("SELECT {$x$:String}, file('/etc/passwd'), {y:String}", "file() is refused"),
    ("EXPLAIN AST WITH x AS (SELECT 1) INSERT runs SELECT * FROM x", "INSERT is refused"),
    ("EXPLAIN SELECT * FROM run_diff(a = 'r', b = 's')", "its plan cannot be printed"),
    (
        "EXPLAIN PLAN indexes = 1 WITH x AS (SELECT * FROM `run_divergence`(a = 'r', b = 's')) SELECT 1",
        "is refused",
    ),
    ("EXPLAIN INSERT INTO runs VALUES (1)", "EXPLAIN is for SELECT only"),
    ("EXPLAIN TABLE OVERRIDE mysql('h', 'd', 't', 'u', 'p') PARTITION BY 1", "EXPLAIN is for SELECT only"),
    ("SELECT 1 PARALLEL WITH DROP TABLE runs", "PARALLEL WITH is refused"),
    ("SELECT count() * 10 FROM runs SAMPLE 0.1", "SAMPLE is refused"),
    ("SELECT 1 FROM (SELECT * FROM runs AS r sample 1/10 OFFSET 1/2)", "WHERE cityHash64(run_id) % 10 = 0"),
    ("SELECT file('/etc/passwd')", "file() is refused"),
    ("SELECT * FROM file('/etc/passwd', 'CSV')", "file() is refused"),
    ("SELECT * FROM `file`('/etc/passwd', 'CSV')", "file() is refused"),
    ("SELECT * FROM \"url\"('http://x', CSV)", "url() is refused"),
    ("SELECT * FROM s3('http://x')", "s3() is refused"),
    ("SELECT * FROM runs, remote('h', system.one)", "remote() is refused"),
    ("SELECT * FROM runs JOIN sqlite('/x', 't') USING a", "sqlite() is refused"),
    ("SELECT * FROM python(x)", "python() is refused"),
    ("DESCRIBE TABLE file('/etc/passwd')", "file() is refused"),
    ("SELECT * FROM view(SELECT * FROM url('http://x'))", "url() is refused"),
    ("SELECT * FROM executable('x', CSV)", "executable() is refused"),
    ("SELECT * FROM kql($$x$$)", "no function or view kql()"),
    ("SELECT * FROM eval('SELECT 1')", "eval() is refused"),
    ("SELECT * FROM merge('system', '.*')", "merge() reads retrospan only"),
    ("SELECT * FROM merge(REGEXP('.*'), '.*')", "merge() reads retrospan only"),
    ("SELECT dictGet('d', 'a', 1)", "dictGet() is refused"),
    ("SELECT aiGenerate('x')", "aiGenerate() is refused"),
    ("SELECT joinGet('t', 'a', 1)", "joinGet() is refused"),
    ("SELECT sleep(3)", "sleep() is refused"),
    ("SELECT sleepIf(3, 1)", "sleepIf"),
    ("SELECT * FROM system.users", "system.users is not open"),
    ("SELECT * FROM system . `server_settings`", "is not open"),
    ("SELECT * FROM `system`.processes", "is not open"),
    ("SELECT * FROM system.{t:Identifier}", "is not open"),
    ("SELECT * FROM {t:Identifier}.processes", "is not a name that can be read"),
    ("SELECT * FROM default.`/etc/passwd`", "database default is empty"),
    ("SELECT * FROM 'system'.processes", "is a string, not a name"),
    ("SHOW PROCESSLIST", "SHOW PROCESSLIST is refused"),
    ("SHOW GRANTS", "SHOW GRANTS is refused"),
    ("SHOW CREATE USER me", "SHOW CREATE USER is refused"),
    ("SELECT 1 SETTINGS readonly = 0", "setting readonly is not open"),
    ("SELECT 1 SETTINGS max_threads = 1, output_format_schema = '/x'", "output_format_schema is not open"),
    ("SELECT 1 FORMAT Template SETTINGS format_template_row = '/etc/passwd'", "is not open"),
    ("SELECT * FROM (SELECT 1 SETTINGS max_execution_time = 0)", "SETTINGS belong at the end"),
    ("SELECT 1 SETTINGS max_execution_time = 0 UNION ALL SELECT 2", "SETTINGS belong at the end"),
    (
        "SELECT * FROM run_state(run_id = 'a', step = 1, tenant = 'b')",
        "no parameter tenant. Write run_state(run_id=…, step=…)",
    ),
    ("SELECT * FROM run_state(run_id = 'a')", "needs the parameter step"),
    ("SELECT * FROM run_states(run_id = 'a')", "Maybe you meant run_state"),
    ("SELECT * FROM other.run_state(run_id = 'a', steps = 1)", "no parameter steps"),
    ("SELECT * FROM run_state(run_id = 'a', step = run_state(1))", "takes values, and a view is not a value"),
    ("SELECT count" + "If" * 90 + "(1)", "no function or view"),
    ("SELECT lowr('a')", "Maybe you meant lower"),
    ("SELEC 1", "Maybe you meant SELECT"),
    ("", "there is no statement"),
    ("-- nothing", "there is no statement"),
    ("SELECT 'open", "' is not closed"),
    ("SELECT /* open", "comment is not closed"),
    ("SELECT $a$ open", "is not closed"),
    ("SELECT ‘curly’", "no meaning outside quotes"),
    ("SELECT 1 \\G", "no meaning outside quotes"),
    ("SELECT `sys\\x74em`.users", "may not contain a backslash"),
    ("SELECT 1\0", "NUL"),
]


@pytest.mark.parametrize(("text", "said"), FORBIDDEN)
def test_everything_else_is_refused_with_its_rule(text: str, said: str) -> None:
    with pytest.raises(SqlError) as refused:
        GUARD.check(text, {"t": "system"})
    assert said in str(refused.value)
    assert refused.value.code


BLANK = st.sampled_from(
    [
        " ",
        "\n",
        "\t",
        "\r\n",
        "/* x */",
        "/* ; -- ' */",
        "-- x'\n",
        "# x`\n",
        '#! "\n',
        "// x\n",
        "\u00a0",
        "\u2003",
    ]
)


@st.composite
def disguised(draw: st.DrawFn) -> tuple[str, str]:
    """A forbidden statement with other blanks between its tokens, other case and other brackets."""
    text = draw(st.sampled_from([text for text, _ in FORBIDDEN[:55]]))
    parts: list[str] = []
    for token in tokens(text):
        piece = token.text
        if token.kind == "word" and token.folded != "system" and draw(st.booleans()):
            piece = draw(st.sampled_from([piece.upper(), piece.lower(), piece.swapcase()]))
        if token.kind == "blank":
            piece = "".join(draw(st.lists(BLANK, min_size=1, max_size=3)))
        elif token.kind in ("mark", "string", "name") and draw(st.booleans()):
            piece = draw(BLANK) + piece + draw(BLANK)
        parts.append(piece)
    before = "".join(draw(st.lists(BLANK, max_size=2)))
    after = draw(st.sampled_from(["", ";", " ; -- x", "\n"]))
    return text, before + "".join(parts) + after


@given(disguised())
def test_no_disguise_gets_a_forbidden_statement_through(case: tuple[str, str]) -> None:
    _, text = case
    with pytest.raises(SqlError):
        GUARD.check(text, {"t": "system"})


@given(st.sampled_from(READING), st.text(max_size=30))
def test_what_stands_in_quotes_never_matters(text: str, content: str) -> None:
    held = content.replace("\0", "")
    literal = "'" + held.replace("\\", "\\\\").replace("'", "''") + "'"
    checked = (
        GUARD.check(f"SELECT {literal}, * FROM ({text.strip().rstrip(';')}\n)")
        if text[:4] == "SELE"
        else None
    )
    assert checked is None or literal in checked.sql


@given(st.text(max_size=60))
def test_any_text_is_checked_or_refused(text: str) -> None:
    try:
        checked = GUARD.check(text)
    except SqlError:
        return
    assert checked.sql.split()[0].strip("(").casefold()[:4] in (
        "sele",
        "with",
        "show",
        "desc",
        "exis",
        "expl",
    )


@given(st.text(alphabet="'\"`$a/*-#; \n\\x(", max_size=40))
def test_what_is_executed_reads_the_same_again(text: str) -> None:
    """Comments and heredocs are gone from it, so the engine cannot read it otherwise than the guard did."""
    try:
        checked = GUARD.check("SELECT " + text)
    except SqlError:
        return
    assert "".join(token.text for token in tokens(checked.sql)) == checked.sql
    assert GUARD.check(checked.sql).sql == checked.sql


@pytest.mark.parametrize(
    ("text", "sql", "output_format", "settings"),
    [
        ("SELECT 1 FORMAT CSV", "SELECT 1", "CSV", {}),
        ("SELECT 1 format `JSON` ;", "SELECT 1", "JSON", {}),
        (
            "SELECT 1 SETTINGS max_threads=1, session_timezone='UTC' FORMAT TSV",
            "SELECT 1",
            "TSV",
            {"max_threads": 1, "session_timezone": "UTC"},
        ),
        (
            "SELECT 1 FORMAT TSV SETTINGS output_format_json_quote_64bit_integers=0",
            "SELECT 1",
            "TSV",
            {"output_format_json_quote_64bit_integers": 0},
        ),
        ("SELECT format('{}', 1)", "SELECT format('{}', 1)", None, {}),
        ("SELECT settings FROM runs", "SELECT settings FROM runs", None, {}),
    ],
)
def test_format_and_settings_are_taken_off_the_end(
    text: str, sql: str, output_format: str | None, settings: dict[str, str | int]
) -> None:
    checked = GUARD.check(text)
    assert (checked.sql, checked.output_format, dict(checked.settings)) == (sql, output_format, settings)


def test_positions_stay_where_the_reader_sees_them() -> None:
    with pytest.raises(SqlError, match="line 2 column 8"):
        GUARD.check("SELECT 1, -- first\n       file('x')")
