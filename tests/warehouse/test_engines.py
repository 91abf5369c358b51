"""One set of files, four kinds of warehouse: what each statement becomes, and that the engine can read it."""

from __future__ import annotations

import re

import pytest

from retrospan.ingest.interpret.sql import load
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.queries import catalogue
from retrospan.schemas.engines import (
    PLAIN,
    SERVER,
    WINDOW_SECONDS,
    Form,
    cluster,
    replicated_database,
)
from retrospan.schemas.migrate import shipped

FORMS = {
    "database": replicated_database(),
    "cluster": cluster("main"),
    "sharded": cluster("main", shards=3),
}
#: What lays out a table anew where nobody else writes.
ANEW = {statement: number for number, _, statement in shipped() if "CREATE OR REPLACE TABLE" in statement}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))


def made(form: Form) -> list[str]:
    """Every statement by which a warehouse of this form is made."""
    views = [view.definition for view in catalogue.views()]
    return [shaped for text in [*(s for _, _, s in shipped()), *views] for shaped in form.shaped(text)]


@every_form
def test_the_engine_reads_every_statement(store: EmbeddedStore, form: Form) -> None:
    statements = made(form)
    assert len(statements) >= len(shipped()) - len(ANEW) - 2 + len(catalogue.views())
    for statement in statements:
        assert store.rows("SELECT isNotNull(formatQueryOrNull({text:String}))", {"text": statement}) == [
            [1]
        ], statement
    assert store.rows("SELECT isNotNull(formatQueryOrNull('CREATE TABLE IF x ('))") == [[0]]


@every_form
def test_every_table_with_rows_is_replicated_and_remembers_batches_for_a_week(form: Form) -> None:
    tables = [s for s in made(form) if re.search(r"^CREATE TABLE", s, re.MULTILINE)]
    engines = [found[1] for s in tables if (found := re.search(r"^ENGINE = (\w+)", s, re.MULTILINE))]
    kinds = ("MergeTree", "ReplacingMergeTree", "AggregatingMergeTree")
    assert set(engines) <= {"Null", "Distributed", *(f"Replicated{kind}" for kind in kinds)}
    assert engines.count("Null") == sum("ENGINE = Null" in s for _, _, s in shipped()) == 2
    text = "\n".join(tables)
    assert "non_replicated" not in text
    assert text.count(f"replicated_deduplication_window_seconds = {WINDOW_SECONDS}") == 4
    replacing = sum(
        "ENGINE = ReplacingMergeTree" in statement
        and statement not in ANEW
        and "canon_spans" not in statement
        for _, _, statement in shipped()
    )
    assert text.count("ReplicatedReplacingMergeTree") == replacing


def test_an_embedded_engine_gets_the_files_as_they_are() -> None:
    assert made(PLAIN) == [s for _, _, s in shipped()] + [view.definition for view in catalogue.views()]


@pytest.mark.parametrize("form", [SERVER, *FORMS.values()], ids=["server", *FORMS])
def test_where_others_write_no_table_is_replaced_and_canonical_ones_are_laid_out_at_once(form: Form) -> None:
    statements = made(form)
    assert ANEW and not any("CREATE OR REPLACE TABLE" in statement for statement in statements)
    canonical = [s for s in statements if re.search(r"^CREATE TABLE IF NOT EXISTS canon_", s, re.MULTILINE)]
    assert len(canonical) > 20 and not any("index_granularity = 8192" in s for s in canonical)
    assert any("index_granularity = 1024" in s and "canon_runs" in s for s in canonical)
    (spans,) = (
        s
        for s in statements
        if re.search(r"^CREATE TABLE IF NOT EXISTS canon_spans\S*.*\n\(", s, re.MULTILINE)
    )
    assert "ReplacingMergeTree" not in spans
    assert "ORDER BY (tenant, trace_id, span_id, generation)" in spans, "each reading of a span is kept"
    other = "CREATE TABLE IF NOT EXISTS other (a UInt8)\nENGINE = Null\nSETTINGS index_granularity = 8192"
    assert "index_granularity = 8192" in form.shaped(other)[0]


def test_a_table_that_is_laid_out_anew_keeps_its_columns_rows_key_and_indexes(store: EmbeddedStore) -> None:
    made_so = (
        "SELECT name, sorting_key, partition_key, engine, "
        "arraySort(groupArray((i.name, i.expr, i.type))) AS indexes "
        "FROM system.tables AS t LEFT JOIN system.data_skipping_indices AS i "
        "ON i.database = t.database AND i.table = t.name "
        "WHERE t.database = currentDatabase() GROUP BY ALL ORDER BY name"
    )
    tables = store.rows(made_so)
    store.command(
        "INSERT INTO canon_steps (tenant, run_id, step) SELECT 't', toString(number), 1 FROM numbers(9)"
    )
    rows = store.rows("SELECT * FROM canon_steps ORDER BY ALL")
    for statement, at in ANEW.items():
        table = re.search(r"TABLE (canon_[a-z_]+)", statement)[1]  # type: ignore[index]
        columns = (
            "SELECT name, type, default_kind, default_expression FROM system.columns "
            f"WHERE database = currentDatabase() AND table = '{table}' ORDER BY position"
        )
        before = store.rows(columns)
        # Where it is carried out, those that follow have not been; nor where it begins again after a crash.
        added = f"ALTER TABLE {table}\n    ADD COLUMN"
        following = [later for number, _, later in shipped() if number > at and added in later]
        for column in re.findall(r"ADD COLUMN IF NOT EXISTS (\w+)", "".join(following)):
            store.command(f"ALTER TABLE {table} DROP COLUMN {column}")
        store.command(statement)
        for later in following:
            store.command(later)
        assert store.rows(columns) == before
    for _, name, statement in shipped():
        if name.endswith(("text_index_to_canon_values", "drop_text_index_of_canon_values")):
            store.command(statement)
    assert store.rows(made_so) == tables
    assert len(rows) == 9 and store.rows("SELECT * FROM canon_steps ORDER BY ALL") == rows


def test_a_replicated_database_takes_no_cluster_and_no_path() -> None:
    text = "\n".join(made(FORMS["database"]))
    assert "ON CLUSTER" not in text and "/clickhouse/" not in text and "Distributed" not in text
    assert "ENGINE = ReplicatedReplacingMergeTree(sequence)" in text
    assert re.search(r"ENGINE = ReplicatedMergeTree$", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["cluster", "sharded"])
def test_on_a_cluster_every_statement_reaches_every_node(name: str) -> None:
    for statement in made(FORMS[name]):
        head = next(
            line for line in statement.splitlines() if line.startswith(("CREATE", "ALTER", "DROP", "INSERT"))
        )
        if head.startswith("INSERT"):
            assert " ON CLUSTER " not in statement, "a replicated table passes rows on by itself"
            continue
        assert head.count(" ON CLUSTER `main`") == 1, head


@every_form
def test_where_others_write_or_replicas_lag_views_choose_among_the_rows_of_every_span(form: Form) -> None:
    statements = made(form)
    assert not any(re.search(r"(TO|INTO|FROM) raw_resent\b", statement) for statement in statements)
    for view in ("spans", "spans_as_sent"):
        (shaped,) = form.shaped(catalogue.load(view).definition)
        assert "WHERE false" in shaped and "WHERE true" in shaped
    assert sum("FROM raw_resent" in statement for statement in made(PLAIN)) == 2
    # Several collectors may write into one server, and no insert surely sees another at the same time.
    assert sum("FROM raw_resent" in statement for statement in made(SERVER)) == 0


def test_on_a_cluster_a_table_has_its_place_by_name() -> None:
    text = "\n".join(made(FORMS["cluster"]))
    places = re.findall(r"MergeTree\('([^']+)', '\{replica\}'", text)
    with_rows = sum("MergeTree" in statement for _, _, statement in shipped()) - len(ANEW)
    assert len(places) == len(set(places)) == with_rows
    assert "/clickhouse/tables/{shard}/retrospan/raw_spans" in places
    assert "/clickhouse/tables/all/retrospan/leases" in places


#: The tables that migrations alter on a cluster, in their order.
ALTERED = [
    "arrivals_local",
    "arrivals",
    "canon_traces_local",
    "canon_traces",
    "canon_model_calls_local",
    "canon_model_calls",
    "canon_steps_local",
    "canon_steps",
    "canon_model_calls_local",
    "canon_model_calls",
    "landing",
    "raw_spans_local",
    "canon_runs_local",
    "canon_runs",
    "canon_traces_local",
    "canon_traces",
    "canon_traces_local",
    "canon_model_calls_local",
    "canon_model_calls",
    "canon_steps_local",
    "canon_steps",
    "canon_runs_local",
    "canon_runs",
    "canon_runs_local",
    "canon_runs",
    "raw_spans_local",
    "raw_spans_local",
    "raw_spans_local",
    "raw_spans",
    "raw_spans_local",
    "raw_spans_local",
    "canon_spans_local",
    "canon_values_local",
    "canon_tool_calls_local",
    "canon_edges_local",
    "canon_steps_local",
    "canon_values_local",
    "canon_values_local",
    "canon_model_calls_local",
    "canon_model_calls",
    "canon_steps_local",
    "canon_steps",
    "canon_agents_local",
    "canon_agents",
    "canon_runs_local",
    "canon_runs",
    "canon_values_local",
    "canon_edges_local",
    "canon_edges",
    "canon_values_local",
    "canon_values_local",
    "canon_values_local",
    "canon_traces_local",
    "canon_traces",
    "canon_traces_local",
    "canon_traces",
    "canon_traces_local",
    "raw_spans_local",
    "raw_logs_local",
    "arrivals_local",
    "raw_spans_local",
    "canon_tool_calls_local",
    "raw_spans_from_landing_spans",
    "raw_spans_from_landing",
    "raw_logs_from_landing",
]


def test_shards_keep_together_what_merges() -> None:
    statements = made(FORMS["sharded"])
    spread = {
        found[1]: found[2]
        for statement in statements
        if (
            found := re.search(
                r"EXISTS (\w+) ON CLUSTER.*Distributed\(.*, (cityHash64\(.*\))\)$", statement, re.DOTALL
            )
        )
    }
    with_rows = sum("MergeTree" in statement for _, _, statement in shipped()) - len(ANEW)
    assert len(spread) == with_rows - len(
        {"alert_events", "deletions", "leases", "logs", "log_identities", "processes"}
    )
    for table, key in spread.items():
        local = next(s for s in statements if f"CREATE TABLE IF NOT EXISTS {table}_local ON" in s)
        order = re.search(r"^ORDER BY \((.*)\)$", local, re.MULTILINE)
        assert order is not None
        columns = re.findall(r"\w+", key.removeprefix("cityHash64"))
        assert set(columns) <= set(order[1].split(", ")), f"{table}: rows that merge may lie on two shards"
    assert (
        not {
            "alert_events",
            "deletions",
            "leases",
            "logs",
            "log_identities",
            "processes",
            "schema_migrations",
            "landing",
        }
        & spread.keys()
    )
    altered = [s for s in statements if re.search(r"^ALTER TABLE", s, re.MULTILINE)]
    named = [found[1] for s in altered if (found := re.search(r"ALTER TABLE (\w+)", s))]
    assert named == ALTERED, "settings and indexes are those of the rows' own table"


def test_what_is_superseded_is_deleted_where_the_rows_are(store: EmbeddedStore) -> None:
    form = FORMS["sharded"]
    statement = form.everywhere(load("delete_superseded"))
    assert "DELETE FROM {table:Identifier} ON CLUSTER `main`" in statement
    assert store.rows("SELECT isNotNull(formatQueryOrNull({text:String}))", {"text": statement}) == [[1]]
    assert (form.local("canon_steps"), PLAIN.local("canon_steps")) == ("canon_steps_local", "canon_steps")
    assert PLAIN.everywhere(statement) == statement
    assert form.settings["distributed_foreground_insert"] == 1 and not PLAIN.settings


def test_a_name_that_could_be_more_than_a_name_is_refused() -> None:
    for name in ("", "a b", "main`; DROP DATABASE x", "{cluster}"):
        with pytest.raises(ValueError, match="not a cluster name"):
            cluster(name)
