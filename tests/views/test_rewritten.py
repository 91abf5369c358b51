"""Whatever is asked, what the port rewrites says the same under the same names, and the guard judges it the same.

A statement that looks like one that may be rewritten and asks for more, hides, renames or nests: the port's statement
either gives what the engine gives for the reader's own, or fails where that fails.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from story import Story, calls, text
from views.test_spans_again import _insert, _row

from retrospan.ingest.answer.computed import sql as lookups_in_sql
from retrospan.ingest.answer.computed.given_rows import COMPUTED, given_rows
from retrospan.ingest.answer.guard.allowlist import Allowlist
from retrospan.ingest.answer.guard.guard import Guard
from retrospan.ingest.answer.questions import reading_less
from retrospan.ingest.answer.rewriting.databases import unqualified
from retrospan.ingest.answer.rewriting.inlining import inlined, own_functions, placed
from retrospan.ingest.answer.rewriting.narrowing import narrowed
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.ingest.warehouse.tenants import TABLES
from retrospan.queries import catalogue
from retrospan.schemas.errors import SqlError

#: Each with whether the port reads something else for it; what looks as if it might, and must not be, says False.
STATEMENTS: list[tuple[str, bool]] = [
    # Conditions that name their traces.
    ("SELECT trace_id, attributes FROM spans WHERE attributes['user.id'] = 'ada' ORDER BY ALL", True),
    ("SELECT attributes /* AS trace_id */ FROM spans WHERE attributes['user.id'] = 'ada' ORDER BY ALL", True),
    ("SELECT attributes FROM `spans` WHERE `attributes`['user.id'] = 'ada' ORDER BY ALL", True),
    ('SELECT attributes FROM "retrospan"."spans" WHERE run_id = \'r\' ORDER BY ALL', True),
    ("SELECT attributes FROM spans WHERE NOT (run_id = 'r' OR span_id = '2222222222222222') ORDER BY ALL", True),
    ("SELECT attributes FROM spans PREWHERE span_id = '1111111111111111' WHERE run_id = 'r' ORDER BY ALL", True),
    ("SELECT resource FROM spans WHERE attributes['n'] = {v:String} ORDER BY ALL", True),
    ("SELECT attributes FROM spans WHERE attributes['n'] = {v:UInt8} ORDER BY ALL", False),
    # What is known of an entity, by the runs that speak of it.
    ("SELECT * FROM retrospan.observations WHERE entity_id = {v:String} ORDER BY ALL", True),
    ("SELECT * FROM `overwrites` AS o WHERE entity_type = 'order' AND entity_id = '1' ORDER BY ALL", True),
    # Lists of what is large, by the runs of their rows.
    ("SELECT * FROM retrospan.steps ORDER BY run_id, step LIMIT 5", True),
    ("SELECT * FROM `model_calls` WHERE ordinal = 1 ORDER BY started_at, run_id LIMIT 5", True),
    ("SELECT *, 'x' AS run_id FROM steps ORDER BY ALL LIMIT 5", False),
    ("SELECT step AS run_id, state_before FROM steps ORDER BY ALL LIMIT 5", False),
    ("SELECT * FROM steps WHERE (SELECT 1) = 1 ORDER BY step LIMIT 5", False),
    # The same words elsewhere: they give a column its name, or may not name a trace.
    ("SELECT (attributes['user.id'] = 'ada') FROM spans ORDER BY ALL", False),
    ("SELECT countIf((attributes['user.id'] = 'ada')) FROM spans", False),
    ("SELECT count() FILTER (WHERE attributes['user.id'] = 'ada') FROM spans", False),
    ("SELECT CASE WHEN attributes['user.id'] = 'ada' THEN 1 ELSE 2 END FROM spans ORDER BY ALL", False),
    ("SELECT attributes FROM spans GROUP BY attributes HAVING attributes['user.id'] = 'ada' ORDER BY ALL", False),
    ("SELECT name, attributes FROM spans ORDER BY (attributes['user.id'] = 'ada'), name, toString(attributes)", False),
    ("SELECT attributes FROM spans WHERE 1 GROUP BY attributes HAVING (attributes['user.id'] = 'ada')", False),
    ("SELECT if(run_id = 'r', 'mine', 'other') AS whose FROM spans ORDER BY ALL", False),
    # Names that mean something else here.
    ("SELECT attributes, 'x' AS trace_id FROM spans WHERE attributes['user.id'] = 'ada' ORDER BY ALL", False),
    ("SELECT attributes, 'x' trace_id FROM spans WHERE attributes['user.id'] = 'ada' ORDER BY ALL", False),
    ("SELECT attributes, name trace_id FROM spans WHERE attributes['user.id'] = 'ada' ORDER BY ALL", False),
    ("SELECT attributes, name `trace_id` FROM spans WHERE attributes['user.id'] = 'ada' ORDER BY ALL", False),
    ("SELECT attributes, upper(name) trace_id FROM spans WHERE attributes['user.id'] = 'ada' ORDER BY ALL", False),
    ("SELECT trace_id, map('user.id', 'ada') AS attributes FROM spans WHERE attributes['user.id'] = 'ada' ORDER BY ALL", False),
    ("SELECT trace_id, 'r' run_id FROM spans WHERE run_id = 'r' ORDER BY ALL", False),
    ("SELECT attributes FROM spans WHERE arrayExists((x, span_id) -> (span_id = 'a'), ['a'], ['a']) ORDER BY ALL", False),
    ("SELECT attributes FROM spans AS a WHERE a.attributes['user.id'] = 'ada' ORDER BY ALL", False),
    ("SELECT attributes FROM (SELECT map('user.id', 'ada') AS attributes) AS spans WHERE attributes['user.id'] = 'ada'", False),
    ("SELECT count() FROM (SELECT attributes FROM spans WHERE attributes['user.id'] = 'ada' UNION ALL SELECT attributes FROM spans)", False),
    ("SELECT attributes FROM spans WHERE trace_id IN (SELECT trace_id FROM spans WHERE run_id = 'r') ORDER BY ALL", False),
    ("SELECT attributes['user.id'] = 'ada' FROM spans WHERE (SELECT count() FROM runs WHERE run_id = 'r') = 1 ORDER BY ALL", False),
    ("SELECT b.attributes FROM spans AS a LEFT JOIN spans AS b ON b.trace_id = a.trace_id AND run_id = 'r' ORDER BY ALL", False),
    ("SELECT attributes FROM spans WHERE attributes['user.id'] = 'ada' AND trace_id != '' LIMIT 0", True),
    # Windows of time name their traces.
    ("SELECT name, run_id FROM spans WHERE ingested_at >= '2026-09-13' ORDER BY ALL", True),
    ("SELECT name, run_id FROM spans WHERE NOT started_at > now() - INTERVAL 1 DAY ORDER BY ALL", True),
    ("SELECT name, run_id FROM spans WHERE started_at > '2020-01-01' AND started_at <= {v:String} ORDER BY ALL", True),
    ("SELECT name, run_id, 1 AS day FROM spans WHERE ingested_at > day ORDER BY ALL", False),
    ("SELECT name, run_id FROM spans WHERE if(ingested_at > '2026-01-01', name = '2', 1) ORDER BY ALL", False),
    ("SELECT run_id, now() AS ingested_at FROM spans WHERE ingested_at > '2026-01-01' AND ingested_at = 5", False),
    # Texts of messages name their runs.
    ("SELECT run_id, role, content FROM messages WHERE content LIKE '%done b%' ORDER BY ALL", True),
    ("SELECT run_id, position FROM retrospan.messages AS m WHERE (content ILIKE '%DONE A%' OR role = 'user') ORDER BY ALL", True),
    ("SELECT count() FROM messages WHERE NOT content LIKE '%done%'", True),
    ("SELECT count() FROM messages WHERE content NOT LIKE '%done%'", False),
    ("SELECT count() FROM messages WHERE content LIKE 'done'", True),
    ("SELECT count() FROM messages WHERE content LIKE '%do_e%a%'", True),
    ("SELECT count() FROM messages WHERE content LIKE ''", True),
    ("SELECT count() FROM messages WHERE content LIKE {v:String}", True),
    ("SELECT count() FROM messages WHERE content LIKE '%\\\\_one%'", True),
    ("SELECT count() FROM messages WHERE content LIKE '%it\\'s done%'", True),
    ("SELECT count() FROM messages WHERE content LIKE '%done' || ' b%'", False),
    ("SELECT count() FROM messages WHERE content LIKE concat('%', 'done', '%')", False),
    ("SELECT 'x' AS content FROM messages WHERE content LIKE '%done%' ORDER BY ALL", False),
    ("SELECT 'x' AS run_id FROM messages WHERE content LIKE '%done%' ORDER BY ALL", False),
    ("SELECT m.content FROM messages AS m INNER JOIN runs USING (run_id) WHERE content LIKE '%done%' ORDER BY ALL", False),
    ("SELECT content FROM (SELECT role AS content FROM messages) WHERE content LIKE '%user%' ORDER BY ALL", False),
    ("SELECT run_id, kind, role, tool_name, step, text FROM texts WHERE text LIKE '%done b%' ORDER BY ALL", True),
    ("SELECT run_id, kind, text FROM texts WHERE text ILIKE '%\"Q\"%' OR kind = 'result' ORDER BY ALL", True),
    ("SELECT count() FROM texts WHERE NOT text LIKE {v:String}", True),
    ("SELECT count() FROM texts WHERE text NOT LIKE '%a%'", False),
    ("SELECT text AS said FROM texts WHERE said LIKE '%a%' ORDER BY ALL", False),
    ("SELECT kind AS text FROM texts WHERE text LIKE '%message%' ORDER BY ALL", False),
    # Whole rows by their keys.
    ("SELECT * FROM spans ORDER BY started_at DESC, trace_id, span_id LIMIT 2", True),
    ("SELECT * FROM spans ORDER BY trace_id DESC, span_id LIMIT 2 OFFSET 1", True),
    ("SELECT * FROM spans ORDER BY trace_id, span_id LIMIT 1, 2", False),
    ("SELECT attributes, name FROM `spans` WHERE run_id = 'r' ORDER BY span_id DESC LIMIT 1", True),
    ("SELECT resource, events FROM retrospan.spans WHERE variants > 1 OR name LIKE '%1%' ORDER BY trace_id LIMIT 1", True),
    ("SELECT attributes FROM spans WHERE arrayExists(x -> x = 'ada', mapValues(attributes)) ORDER BY trace_id DESC LIMIT 1", True),
    ("SELECT attributes, name FROM spans ORDER BY name, trace_id LIMIT 1 BY name", False),
    ("SELECT count(), any(attributes) FROM spans WHERE trace_id LIKE 'a%' LIMIT 1", False),
    ("SELECT attributes FROM spans WHERE trace_id IN (SELECT max(trace_id) FROM spans) ORDER BY span_id LIMIT 1", False),
    ("SELECT * FROM spans ORDER BY upper(trace_id), span_id LIMIT 3", False),
    ("SELECT * FROM spans ORDER BY nothing LIMIT 3", False),
    # The same with the database.
    ("SELECT step FROM retrospan.steps ORDER BY ALL", True),
    ("SELECT s.step FROM `retrospan` . steps /* . */ AS s ORDER BY ALL", True),
    ("SELECT steps.step FROM retrospan.steps INNER JOIN retrospan.model_calls AS m USING (run_id, step) ORDER BY ALL", True),
    ("SELECT retrospan.steps.step FROM retrospan.steps ORDER BY ALL", False),
    ("SELECT d.aspect FROM retrospan.run_diff(a = 'r', b = 's') AS d ORDER BY ALL", True),
    ("WITH steps AS (SELECT 7 AS step) SELECT step FROM retrospan.steps ORDER BY ALL", False),
    ("SELECT step FROM (SELECT step AS retrospan FROM steps) AS steps, retrospan.runs AS r ORDER BY ALL", True),
    ("SELECT run_id FROM retrospan.runs WHERE run_id IN retrospan.runs", False),
    ("SELECT 'retrospan.steps' AS told, 1 AS steps FROM retrospan.runs ORDER BY ALL", True),
    # What interpretation gave.
    ("SELECT count(*), count() FROM spans", True),
    ("SELECT name, count(*) AS n FROM spans s GROUP BY name ORDER BY ALL", True),
    ("SELECT spans.name FROM spans ORDER BY ALL", True),
    ("SELECT * FROM spans ORDER BY span_id, trace_id", False),
    ("SELECT tuple(*) FROM spans ORDER BY ALL", False),
    ("SELECT (*) FROM spans ORDER BY trace_id, span_id", False),
    ("SELECT toString(tuple(*)) AS everything FROM spans ORDER BY ALL", False),
    ("SELECT length(toString(tuple(spans.*))) FROM spans ORDER BY ALL", False),
    ("SELECT count(tuple(*)) FROM spans", False),
    ("SELECT COLUMNS('_id$') FROM spans ORDER BY ALL", False),
    ("SELECT COLUMNS('^name$') APPLY(upper) FROM spans ORDER BY ALL", False),
    ("SELECT {c:Identifier} FROM spans ORDER BY ALL", False),
    ("SELECT `run_id` FROM spans ORDER BY ALL", False),
    ("SELECT Run_Id FROM spans", False),
    ("SELECT count() FROM (WITH spans AS (SELECT 'mine' AS name) SELECT name FROM spans)", False),
    ("SELECT name FROM (SELECT name FROM spans UNION ALL SELECT operation FROM spans) ORDER BY name", False),
    ("SELECT n FROM (SELECT count() AS n FROM spans) AS spans", True),
    ("SELECT a.name FROM spans AS a INNER JOIN spans AS b USING (trace_id, span_id) ORDER BY ALL", True),
    ("SELECT name FROM spans WHERE trace_id IN (SELECT trace_id FROM spans WHERE name = '2') ORDER BY ALL", True),
    ("SELECT 'FROM spans' AS told, name FROM spans ORDER BY ALL", True),
    ("SELECT name FROM spans -- , run_id\n ORDER BY ALL", True),
    ("SELECT name FROM spans.x", False),
    ("SELECT 'spans_as_sent' AS told, step FROM steps WHERE run_id = 'r' AND `state_after` = '' ORDER BY ALL", False),
    ("SELECT run_id AS spans_as_sent FROM runs WHERE run_id = 'r' ORDER BY ALL", False),
    ("SELECT name FROM spans_as_sent WHERE span_id = '1111111111111111' ORDER BY ALL", True),
    ("SELECT extract(YEAR FROM spans) FROM (SELECT toDate('2020-01-02') AS spans)", False),
    ("SELECT trim(BOTH 'x' FROM spans) FROM (SELECT 'xyx' AS spans)", False),
    ("SELECT name FROM (SELECT ['a', 'b'] AS spans, 1 AS name) ARRAY JOIN spans", False),
    ("SELECT steps FROM (SELECT ['a', 'b'] AS steps) ARRAY JOIN steps ORDER BY ALL", False),
    # Payload of runs.
    ("SELECT step FROM steps ORDER BY ALL", True),
    ("SELECT step FROM steps /* state_after */ ORDER BY ALL", True),
    ("SELECT step, `state_after` FROM steps ORDER BY ALL", False),
    ("SELECT tuple(*) FROM steps ORDER BY ALL", False),
    ("SELECT step FROM steps WHERE state_after != '' ORDER BY ALL", False),
    ("SELECT step FROM (SELECT * FROM steps) ORDER BY ALL", False),
    ("SELECT a.step FROM steps AS a NATURAL JOIN steps AS b ORDER BY ALL", False),
    ("SELECT sum(step) FROM (SELECT step FROM steps UNION ALL SELECT ordinal FROM model_calls)", True),
    ("SELECT s.state_before FROM (SELECT step, state_before FROM steps) AS s ORDER BY ALL", False),
    ("SELECT state_before FROM (SELECT step AS state_before FROM steps) ORDER BY ALL", False),
    ("SELECT CASE WHEN step > 1 THEN name ELSE (SELECT max(output_messages) FROM model_calls) END AS shown FROM steps ORDER BY ALL", True),
    ("SELECT count() FROM steps AS v, model_calls AS c WHERE v.step = c.step AND v.run_id = c.run_id", True),
    ("SELECT run_id, steps FROM runs WHERE steps > 0 ORDER BY ALL", False),
    ("SELECT {c:Identifier} FROM steps ORDER BY ALL", False),
    # Computed rows.
    ("SELECT d.* FROM run_diff(a = 'r', b = 's') AS d ORDER BY ALL", True),
    ("SELECT count() FROM run_diff(a = 'r', b = 's') WHERE aspect IN (SELECT aspect FROM run_diff(a = 's', b = 'r'))", True),
    ("SELECT depth, label FROM provenance(ref = {r:String}, depth = 4, direction = 'up') ORDER BY ALL", True),
    ("SELECT depth FROM provenance(ref = 'run:r', depth = 2 + 2, direction = 'up') ORDER BY ALL", False),
    ("SELECT max(aspect) FROM (SELECT aspect FROM run_divergence(a = 'r', b = 's') UNION ALL SELECT '')", True),
    ("SELECT rows_of_run_diff_1 FROM run_diff(a = 'r', b = 's')", True),
    ("SELECT row FROM run_diff(a = 'r', b = 's')", True),
]  # fmt: skip

PARAMETERS: Mapping[str, Any] = {"v": "3.0", "c": "run_id", "r": "run:r"}

#: Refused as they are, and so in whatever they are made.
REFUSED = [
    "SELECT name FROM spans WHERE run_id = 'r' INTO OUTFILE 'x'",
    "SELECT name FROM spans; SELECT 1",
    "SELECT name FROM spans WHERE name = (SELECT * FROM file('/etc/passwd'))",
    "SELECT step FROM steps WHERE name IN (SELECT query FROM system.query_log)",
    "SELECT step FROM steps SETTINGS readonly = 0",
    "SELECT count() FROM run_diff(a = 'r', b = (SELECT token FROM url('http://x')))",
    "SELECT run_of('a', 'b') FROM steps",
    "SELECT name FROM spans WHERE span_id = 'x' AND sleep(3)",
    "SELECT step FROM 'steps'.x",
]


@pytest.fixture(scope="module")
def told(module_views: EmbeddedStore) -> EmbeddedStore:
    views = module_views
    for run_id, query in (("r", "a"), ("s", "b")):
        story = Story(run_id)
        story.hear(text("user", "x"))
        story.model(calls("search", q=query))
        story.tool("search", {"q": query}, [])
        story.model(text("assistant", f"done {query}"))
        story.state(1, city=f"Oslo {query}")
        story.tell(views)
    _insert(
        views,
        _row("a", "1", 1, 1, attributes=[["user.id", "string", "ada"], ["n", "double", "3"]]),
        _row("a", "2", 2, 1, attributes=[["user.id", "string", "bob"]]),
        _row("b", "1", 3, 2, attributes=[["user.id", "string", "ada"]]),
        _row("c", "3", 4, 3, attributes=[["n", "int", "3"]]),
    )
    _insert(views, _row("b", "1", 2, 4, attributes=[["user.id", "string", "eve"]]))
    spans = [("a", "1", "r"), ("a", "2", "r"), ("c", "3", "s")]
    views.insert(
        "INSERT INTO canon_spans",
        "\n".join(
            json.dumps(
                {"tenant": "default", "trace_id": t * 32, "span_id": s * 16, "run_id": r, "generation": 1}
            )
            for t, s, r in spans
        ).encode(),
        "JSONEachRow",
    )
    views.insert(
        "INSERT INTO canon_traces",
        "\n".join(
            json.dumps({"tenant": "default", "trace_id": trace * 32, "generation": 1}) for trace in "ac"
        ).encode(),
        "JSONEachRow",
    )
    return views


def _port_writes(sql: str) -> str:
    return narrowed(
        inlined(reading_less(unqualified(sql))), {name: str(value) for name, value in PARAMETERS.items()}
    )


@functools.cache  # nothing is written meanwhile
def _answer(store: EmbeddedStore, sql: str) -> str | None:
    """Return names, types and rows; None for an error."""
    used = {name: value for name, value in PARAMETERS.items() if f"{{{name}:" in sql}
    try:
        return store.query(sql, used, output_format="TSVWithNamesAndTypes").decode()
    except SqlError:
        return None


def _marks(place: int, sql: str) -> list[pytest.MarkDecorator]:
    if place % 4 == 0 and "run_di" not in sql:
        return []
    return [pytest.mark.soak if place % 3 else pytest.mark.long]


@pytest.mark.parametrize(
    ("sql", "is_rewritten"),
    [pytest.param(*each, id=each[0], marks=_marks(place, each[0])) for place, each in enumerate(STATEMENTS)],
)
def test_what_the_port_writes_says_the_same(told: EmbeddedStore, sql: str, is_rewritten: bool) -> None:
    with_places, of_views = placed(reading_less(unqualified(sql)), COMPUTED)
    assert (_port_writes(sql) != sql) == is_rewritten
    assert _answer(told, _port_writes(sql)) == _answer(told, sql)
    if of_views:
        rows = given_rows(told, of_views, PARAMETERS)
        expected = _answer(told, sql)
        try:
            found = told.query(
                with_places, {**PARAMETERS, **rows}, output_format="TSVWithNamesAndTypes"
            ).decode()
        except SqlError:
            found = None
        assert found == expected


@pytest.mark.long
def test_some_of_these_have_rows_and_some_fail(told: EmbeddedStore) -> None:
    answers = [_answer(told, sql) for sql, _ in STATEMENTS]
    with_rows = [answer for answer in answers if answer is not None and answer.count("\n") > 2]
    assert len(with_rows) > len(STATEMENTS) * 0.8
    assert 0 < answers.count(None) < len(STATEMENTS) * 0.1


def test_the_guard_judges_what_is_written_as_it_judges_what_was_asked(told: EmbeddedStore) -> None:
    guard = Guard(Allowlist.read(told))
    given = {name: str(value) for name, value in PARAMETERS.items()}
    for sql, _ in STATEMENTS:
        try:
            asked = guard.check(sql, given).sql
        except SqlError:
            continue
        for made in (_port_writes(asked), placed(reading_less(unqualified(asked)), COMPUTED)[0]):
            assert guard.check(made, given, own_functions()).sql == made, sql
    for sql in REFUSED:
        with pytest.raises(SqlError):
            guard.check(sql, given)
            pytest.fail(f"let through: {sql}")
        try:
            made = _port_writes(sql)
        except SqlError:
            continue
        with pytest.raises(SqlError):
            guard.check(made, given)
            pytest.fail(f"let through: {made}")


def test_whatever_is_read_instead_has_the_policies_of_tenants(told: EmbeddedStore) -> None:
    views = {view.name for view in catalogue.views()}
    for sql, is_rewritten in STATEMENTS:
        if is_rewritten:
            tables = set(re.findall(r"\b(?:canon|raw)_[a-z_]+", _port_writes(sql)))
            assert tables <= {*TABLES, *views}, sql
    lookups = (path.read_text(encoding="utf-8") for path in Path(lookups_in_sql.__path__[0]).glob("*.sql"))
    read = {table for lookup in lookups for table in re.findall(r"\b(?:canon|raw)_[a-z_]+", lookup)}
    assert len(read) > 5 and read <= set(TABLES)
