"""Views that were told to select the same again, with a function that is planned sooner: nothing that is stored changes."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interpreting import load
from otlp_strategies import attribute_lists
from otlp_values import Attribute, Origin, Span, request

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas.migrate import shipped

VIEWS = ("raw_spans_from_landing_spans", "raw_spans_from_landing", "raw_logs_from_landing")


def test_each_selects_what_it_selected_and_has_the_function_as_it_is_now(store: EmbeddedStore) -> None:
    statements = [statement for _, _, statement in shipped()]
    for view in VIEWS:
        (made,) = (s for s in statements if f"CREATE MATERIALIZED VIEW IF NOT EXISTS {view} TO" in s)
        (altered,) = (s for s in statements if f"ALTER TABLE {view}\n" in s)
        select = made.partition(" AS\n")[2]
        assert select.startswith("SELECT\n")
        assert altered.endswith(f"    MODIFY QUERY\n{select}")
        asked = (
            "SELECT position(create_table_query, 'members') > 0 FROM system.tables WHERE name = {view:String}"
        )
        assert store.rows(asked, {"view": view}) == [[1]]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lists=st.lists(attribute_lists, min_size=1, max_size=12))
def test_attributes_are_read_as_they_were_before(store: EmbeddedStore, lists: list[list[Attribute]]) -> None:
    """Else the content hash of a span that is loaded again would be another."""
    (before,) = (statement for _, name, statement in shipped() if name == "0006_create_triples_function")
    triples = ", ".join(
        f"tupleElement(tupleElement(tupleElement(r, 'resource'), 'attributes'), '{member}')"
        for member in ("key", "value")
    )
    store.command(before.replace("retrospan_triples", "triples_before"))
    store.command("CREATE TABLE IF NOT EXISTS told (now String, before String) ENGINE = Memory")
    store.command(
        "CREATE MATERIALIZED VIEW IF NOT EXISTS told_from_landing_spans TO told AS "
        f"SELECT toString(retrospan_triples({triples})) AS now, toString(triples_before({triples})) AS before "
        "FROM (SELECT arrayJoin(tupleElement(traces, 'resource_spans')) AS r FROM landing_spans)"
    )
    try:
        load(
            store,
            [
                request(
                    Origin(resource_attributes=attributes),
                    [Span(trace_id=b"t" * 16, span_id=number.to_bytes(8, "big"))],
                )
                for number, attributes in enumerate(lists, start=1)
            ],
        )
        told = store.rows("SELECT now, before FROM told")
        assert len(told) == len(lists)
        assert all(now == then for now, then in told)
    finally:
        store.command("DROP VIEW told_from_landing_spans SYNC")
        store.command("DROP TABLE told SYNC")
        store.command("DROP FUNCTION triples_before")
