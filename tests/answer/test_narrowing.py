"""Statements over `spans` written so that they read less: the same rows, and only where that is sure."""

from __future__ import annotations

import pytest

from retrospan.ingest.answer.rewriting.narrowing import narrowed
from retrospan.ingest.cli.client.questions import statement

KEY = "arrayMap((k, v) -> sipHash64(k, substring(v, 1, 200)), attributes.key, attributes.value)"
TRACES = f"trace_id IN (SELECT trace_id FROM retrospan.raw_spans WHERE has({KEY}, sipHash64('user.id', 'x'))"


def test_a_condition_on_an_attribute_names_its_traces() -> None:
    found = narrowed("SELECT trace_id FROM spans WHERE attributes['user.id'] = 'x' ORDER BY trace_id")
    assert found == (
        f"SELECT trace_id FROM spans WHERE (attributes['user.id'] = 'x' AND {TRACES})) ORDER BY trace_id"
    )


def test_every_condition_is_found_and_a_parameter_stays_one() -> None:
    found = narrowed(
        "SELECT attributes FROM retrospan.spans AS s WHERE (attributes['a'] = {v:String} OR NOT run_id = 'r') "
        "AND span_id = 'f'",
        {"v": "3.0"},
    )
    assert (
        f"has({KEY}, sipHash64('a', {{v:String}})) OR has({KEY}, sipHash64('a', substring({{v:String}}, 1, 1)))"
        in found
    )
    assert (
        "NOT (run_id = 'r' AND trace_id IN (SELECT trace_id FROM retrospan.canon_spans WHERE run_id = 'r'))"
        in found
    )
    assert found.endswith(
        "(span_id = 'f' AND trace_id IN (SELECT trace_id FROM retrospan.raw_spans WHERE span_id = 'f'))"
    )


def test_what_interpretation_gave_is_left_out_where_nobody_names_it() -> None:
    found = narrowed("SELECT name, count(*) FROM spans WHERE spans.started_at > now() GROUP BY name")
    assert "FROM spans_as_sent AS spans WHERE spans.started_at" in found
    assert "FROM retrospan.spans_as_sent AS s" in narrowed("SELECT count() FROM retrospan.spans AS s")
    assert "FROM spans_as_sent s WHERE" in narrowed("SELECT count() FROM spans s WHERE s.name = ''")
    inside = narrowed("SELECT n FROM (SELECT count() AS n FROM spans) AS k")
    assert inside == "SELECT n FROM (SELECT count() AS n FROM spans_as_sent AS spans) AS k"


def test_a_text_of_messages_names_its_runs_by_the_parts_that_an_index_knows() -> None:
    assert narrowed("SELECT role FROM messages WHERE content LIKE '%und order of%' LIMIT 5") == (
        "SELECT role FROM messages WHERE (content LIKE '%und order of%' AND run_id IN (SELECT run_id "
        "FROM retrospan.canon_values WHERE json LIKE '%und order of%' AND hasAllTokens(lower(json), 'order'))) LIMIT 5"
    )
    assert narrowed("SELECT role FROM messages WHERE content LIKE '%fund wind%'") == (
        "SELECT role FROM messages WHERE (content LIKE '%fund wind%' AND run_id IN (SELECT run_id "
        "FROM retrospan.canon_values WHERE json LIKE '%fund wind%' AND lower(json) LIKE '%fund%' AND lower(json) LIKE '%wind%'))"
    )
    assert narrowed(
        "SELECT role FROM messages WHERE content ILIKE {v:String}", {"v": "%50\\% off%"}
    ).endswith("run_id IN (SELECT run_id FROM retrospan.canon_values WHERE json ILIKE {v:String}))")


def test_whole_rows_are_read_by_the_keys_of_those_that_come_first() -> None:
    found = narrowed("SELECT * FROM spans WHERE name = 'x' ORDER BY started_at DESC LIMIT 20 OFFSET 5")
    assert found == (
        "SELECT * FROM retrospan.spans WHERE (tenant, trace_id, span_id) IN (SELECT tenant, trace_id, span_id "
        "FROM retrospan.spans_as_sent AS spans WHERE name = 'x' ORDER BY started_at DESC LIMIT 25) "
        "ORDER BY started_at DESC LIMIT 20 OFFSET 5"
    )
    of_run = narrowed("SELECT events FROM spans WHERE run_id = 'r' LIMIT 3")
    assert (
        "trace_id IN (SELECT trace_id FROM retrospan.canon_spans WHERE run_id = 'r')) LIMIT 3) LIMIT 3"
        in of_run
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM spans LIMIT 1 BY name",
        "SELECT * FROM spans LIMIT 3 WITH TIES",
        "SELECT * FROM spans LIMIT 1001",
        "SELECT * FROM spans LIMIT 900 OFFSET 200",
        "SELECT * FROM spans LIMIT {n:UInt8}",
        "SELECT * FROM spans LIMIT -1",
        "SELECT * FROM spans ORDER BY started_at",
        "SELECT * FROM spans ORDER BY started_at DESC NULLS FIRST LIMIT 3",
        "SELECT * FROM spans AS s LIMIT 3",
        "SELECT * FROM spans, runs LIMIT 3",
        "SELECT * FROM spans ORDER BY 1 LIMIT 3",
        "SELECT * FROM spans LIMIT 3 FORMAT JSON",
        "SELECT * FROM spans LIMIT 3 SETTINGS max_threads = 1",
        "SELECT *, 1 FROM spans LIMIT 3",
        "SELECT DISTINCT attributes FROM spans LIMIT 3",
        "SELECT attributes AS name FROM spans WHERE name = 'x' LIMIT 3",
        "SELECT attributes name FROM spans WHERE name = 'x' LIMIT 3",
        "SELECT max(attributes) FROM spans LIMIT 3",
        "SELECT * FROM spans GROUP BY ALL LIMIT 3",
        "SELECT * FROM spans LIMIT 3 UNION ALL SELECT * FROM spans LIMIT 3",
        "SELECT 1",
        "SELECT * FROM runs WHERE run_id = 'r'",
        "SELECT * FROM spans",
        "SELECT spans.* FROM spans",
        "SELECT COLUMNS('run') FROM spans",
        "SELECT count() FROM spans WHERE operation = 'tool'",
        "SELECT retrospan.spans.name FROM retrospan.spans",
        "SELECT attributes FROM spans WHERE attributes['a'] = ''",
        "SELECT attributes FROM spans WHERE attributes['a'] = 'NaN'",
        "SELECT attributes FROM spans WHERE attributes['a'] = '[1]'",
        "SELECT attributes FROM spans WHERE attributes['a'] = 'it\\'s'",
        "SELECT attributes FROM spans WHERE attributes['a'] = 'x' || 'y'",
        "SELECT attributes FROM spans WHERE attributes['a'] != 'x'",
        "SELECT attributes FROM spans WHERE attributes[name] = 'x'",
        "SELECT attributes FROM spans WHERE lower(attributes['a']) = 'x'",
        "SELECT attributes FROM spans WHERE 1 - attributes['a'] = 'x'",
        "SELECT attributes FROM spans WHERE attributes['a'] = {v:String}",
        f"SELECT attributes FROM spans WHERE attributes['a'] = '{'x' * 201}'",
        "SELECT attributes FROM spans, runs WHERE attributes['a'] = 'x'",
        "SELECT attributes FROM spans AS s, runs WHERE attributes['a'] = 'x'",
        "SELECT attributes FROM spans INNER JOIN runs USING (run_id) WHERE attributes['a'] = 'x'",
        "SELECT attributes, name AS trace_id FROM spans WHERE attributes['a'] = 'x'",
        "SELECT arrayFilter(run_id -> run_id = 'x', []) , attributes FROM spans",
        "SELECT attributes FROM spans WHERE s.run_id = 'x'",
        "EXPLAIN SELECT name FROM spans",
        "DESCRIBE spans",
    ],
)
def test_all_else_is_left_as_it_is(query: str) -> None:
    assert narrowed(query) == query


def test_what_find_asks_is_answered_by_the_index() -> None:
    """A variable that is called otherwise than a column renames none; inside a function of its own nothing is joined."""
    found = narrowed(statement("find_texts"), {"pattern": "%no stock%"})
    assert "AND run_id IN (SELECT run_id FROM" in found
    asked = "SELECT run_id FROM texts WHERE text ILIKE '%no stock%' AND arrayExists({} -> (text ILIKE '%x%'), [1])"
    assert narrowed(asked.format("x")).count("run_id IN") == 1
    for variable in ("text", "run_id", "(text, x)", "(x, y)"):
        assert narrowed(asked.format(variable)) == asked.format(variable)
