"""Values that try to become SQL: through the calls of views, through parameters, through names and formats."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest
from fix_collector import Served
from hypothesis import given, settings
from hypothesis import strategies as st

from retrospan.ingest.answer.guard.lexer import tokens
from retrospan.ingest.answer.rewriting.inlining import LONGEST_TEXT, inlined
from retrospan.queries import catalogue
from retrospan.queries.catalogue import Parameter, View

VIEWS = [view for view in catalogue.views() if len(view.parameters) > 1]
CALLED = [view for view in catalogue.views() if view.parameters]


def asked(served: Served, sql: str, **words: str) -> tuple[int, str]:
    """Status and answer of the SQL port."""
    address = f"http://{served.sql}/?{urllib.parse.urlencode(words)}"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, sql.encode()), timeout=60) as reply:
            return reply.status, reply.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(errors="replace")


def breakouts(view: View, payload: str) -> Sequence[str]:
    """For each pair of its parameters a call whose first value holds the second's place, which then breaks out."""
    found: list[str] = []
    for first in view.parameters:
        for second in view.parameters:
            if first == second:
                continue
            values = {parameter.name: "'1'" for parameter in view.parameters}
            values[first.name] = f"'{{{second.name}:{second.type}}}'"
            # Put into the first one's quotes, its own quotes end them: `CAST('CAST('` and then this.
            values[second.name] = f"', $${second.type}$$) OR {payload} = 1 --'"
            given = ", ".join(f"{name}={value}" for name, value in values.items())
            found.append(f"SELECT * FROM {view.name}({given})")
    return found


@pytest.mark.soak
def test_no_view_gives_the_password_file(served: Served, tmp_path: Path) -> None:
    """Finding 1 as it was found, for every view and every pair of its parameters."""
    secret = tmp_path / "secret.txt"
    secret.write_text("0123456789abcdef")
    for view in VIEWS:
        for call in breakouts(view, f"toUInt64(file($${secret}$$))"):
            status, answer = asked(served, call)
            assert "0123456789abcdef" not in answer, call
            assert "Code: 62" not in answer and status in (200, 400, 408), (call, answer)


@pytest.mark.long
def test_no_reader_overwrites_a_file(served: Served, tmp_path: Path) -> None:
    """With it, a token with the right `read` made itself one with `admin`."""
    target = tmp_path / "tokens.toml"
    target.write_text("mine")
    # What follows in the view becomes comments, one in the other, which end in a literal of the reader's own.
    breaking = "', $$String$$))) AS p ON 1 = 1 GROUP BY ALL)) GROUP BY tenant, field) AS w) /*'"
    for way in ("TRUNCATE", "APPEND"):
        for ends in range(1, 8):
            end = f"{'*/' * ends} INTO OUTFILE $${target}$$ {way} FORMAT CSV --"
            asked(
                served,
                f"SELECT 1 FROM entity_state(entity_type='{{entity_id:String}}', entity_id={breaking}, at='1', "
                f"known_at='1') WHERE '{end}' = ''",
            )
    assert target.read_text() == "mine"


HOSTILE = [
    "', $$String$$) OR toUInt64(file($$/etc/passwd$$)) = 1 --",
    "') UNION ALL SELECT file('/etc/passwd') --",
    "\\",
    "\\'",
    "'",
    "''",
    "$$",
    "*/",
    "/*",
    "--",
    "\n",
    "}",
    "{",
    "CAST(",
    "#!",
]


@st.composite
def literals(draw: st.DrawFn, view: View) -> dict[str, str]:
    """A literal for each parameter of the view, in any way of writing one."""
    places = [f"{{{parameter.name}:{parameter.type}}}" for parameter in view.parameters]
    piece = st.one_of(st.sampled_from([*places, *HOSTILE]), st.text(max_size=8))
    found: dict[str, str] = {}
    for parameter in view.parameters:
        content = "".join(draw(st.lists(piece, max_size=6))).replace("\0", "")
        escaped = content.replace("\\", "\\\\")
        ways = [
            f"'{escaped.replace(chr(39), chr(92) + chr(39))}'",
            f"'{escaped.replace(chr(39), chr(39) * 2)}'",
        ]
        if "$$" not in content and not content.endswith("$"):
            ways.append(f"$${content}$$")
        ways += ["{x:String}", "{x:UInt32}", "17"]
        found[parameter.name] = draw(st.sampled_from(ways))
    return found


def significant(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens(text) if token.kind != "blank"]


@pytest.mark.long
@pytest.mark.parametrize("view", CALLED, ids=lambda view: view.name)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_outside_the_literals_stand_the_views_own_tokens(view: View, data: st.DataObject) -> None:
    values = data.draw(literals(view))
    call = f"{view.name}({', '.join(f'{name} = {value}' for name, value in values.items())})"
    found = significant(inlined(f"SELECT * FROM {call} AS v LIMIT 1"))
    own = significant(view.statement)
    expected: list[tuple[str, str]] = significant("SELECT * FROM (")
    place = 0
    while place < len(own):
        if own[place] != ("mark", "{"):
            expected.append(own[place])
            place += 1
            continue
        name, kind = own[place + 1][1], own[place + 3][1]
        assert own[place + 2 : place + 5 : 2] == [("mark", ":"), ("mark", "}")]
        expected += significant("CAST(") + significant(values[name]) + significant(f", '{kind}')")
        place += 5
    assert found == expected + significant(") AS v LIMIT 1")


def test_what_stands_in_strings_and_comments_of_a_view_is_not_a_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = View(
        name="made",
        title="",
        parameters=(Parameter(name="a", type="String"), Parameter(name="b", type="Array(String)")),
        columns=(),
        notes=(),
        examples=(),
        statement="SELECT '{a:String}', `{a:String}`, { a : String } -- {b:Array(String)}\nWHERE has({b:Array(String)}, 'x')",
    )
    monkeypatch.setattr(catalogue, "views", lambda: (made,))
    text = inlined("SELECT * FROM made(a = '{b:Array(String)}', b = '[]')")
    assert significant(text) == significant(
        "SELECT * FROM (SELECT '{a:String}', `{a:String}`, CAST('{b:Array(String)}', 'String') "
        "WHERE has(CAST('[]', 'Array(String)'), 'x')) AS made"
    )


@pytest.mark.parametrize(
    "call",
    [
        "run_state(run_id = {x:Identifier}, step = 1)",
        "run_state(run_id = {x:IDENTIFIER}, step = 1)",
        "run_state(run_id = 'a', run_id = 'b', step = 1)",
        "run_state(run_id = 1abc, step = 1)",
        "run_state(run_id = 'a' 'b', step = 1)",
        "run_state(run_id = 'a'$$b$$, step = 1)",
    ],
)
def test_what_is_not_a_literal_goes_to_the_view(call: str) -> None:
    """An identifier would name a column inside the view; the others mean nothing there."""
    assert inlined(f"SELECT * FROM {call}") == f"SELECT * FROM {call}"


def test_many_calls_stay_below_what_the_engine_reads() -> None:
    """Thirty times the text of run_diff is a million characters: the engine reads a quarter of that."""
    calls = " UNION ALL ".join(["SELECT * FROM run_diff(a = 'r', b = 's')"] * 30)
    text = inlined(calls)
    assert len(text) <= LONGEST_TEXT and "run_diff(" in text and len(text) > len(calls) + 20_000


def test_a_row_of_names_takes_no_time() -> None:
    """20,000 names of a view, which had the whole rest of the statement copied for each."""
    sql = "SELECT " + ", ".join(["run_state"] * 20_000)
    started = time.monotonic()
    assert inlined(sql) == sql
    assert time.monotonic() - started < 20.0


@pytest.mark.long
def test_two_strings_that_touch_are_refused(served: Served) -> None:
    """A heredoc is executed as a quoted string: beside another both would be one, which the guard did not judge."""
    status, answer = asked(served, "SELECT 'a'$$b$$")
    assert status == 400 and "touch" in answer


@pytest.mark.long
def test_a_call_that_ends_too_soon_is_answered(served: Served) -> None:
    """The guard looked one word too far, and the connection was closed without an answer."""
    for sql in ("SELECT * FROM run_state(run_id", "SELECT (SELECT * FROM run_state(step = 1, `run_id`"):
        status, answer = asked(served, sql)
        assert status == 400 and "Code: 4" in answer, answer


@pytest.mark.long
def test_values_that_break_out_of_nothing_come_back_as_they_are(served: Served) -> None:
    for value in ("') OR 1=1 --", "{x:String}", "$$", "%(x)s", "a\\\\b"):
        status, answer = asked(served, "SELECT {x:String} AS v FORMAT JSONEachRow", param_x=value)
        assert status == 200 and json.loads(answer)["v"] == value.replace("\\\\", "\\")


@pytest.mark.long
def test_names_of_parameters_are_names(served: Served) -> None:
    for name in ("", "x y", "x'", "--", "ä", "1"):
        status, answer = asked(served, "SELECT 1", **{f"param_{name}": "1"})
        assert status == 400 and "not a parameter name" in answer


@pytest.mark.long
def test_formats_are_those_of_the_engine(served: Served) -> None:
    """Formats of the Python around the engine closed the connection; on a server the name is put into the statement."""
    for name in ("DataFrame", "ArrowTable", "CSV SETTINGS readonly = 0", "CSV INTO OUTFILE '/tmp/x'", "'"):
        status, answer = asked(served, "SELECT 1", default_format=name)
        assert status == 404 and "is not supported" in answer
        assert asked(served, "SELECT 1", default_format="csv") == (200, "1\n")
