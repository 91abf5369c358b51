"""Documents tie runs together as before they had versions: what made one is kept, what read one too is not."""

from __future__ import annotations

from made_runs import act, agent, rows

from retrospan.ingest.interpret.service.dispatch import write_rows
from retrospan.ingest.retention.sql import load
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas.hashing import hash_of


def test_a_run_that_read_a_document_made_none_of_its_versions(store: EmbeddedStore) -> None:
    found = '[{"id": "policy", "content": "Thirty days."}]'
    reader = act("retrieval", 1, gen_ai__data_source__id="kb", gen_ai__retrieval__documents=found)
    write_rows(store, rows(agent(), reader))
    (run,) = rows(agent(), reader).runs
    rests = store.rows(load("rests_on"), {"tenant": "default", "run_ids": [run.run_id]})
    exact = f"document:kb/policy@{hash_of('Thirty days.')}"
    assert {str(row[0]) for row in rests if str(row[0]).startswith("document:")} == {
        exact,
        "document:kb/policy",
        "document:policy",
    }
    asked = {"tenant": "default", "things": [exact, "document:kb/policy", "document:policy"]}
    assert store.rows(load("runs_that_made"), asked) == []
    store.command(
        "INSERT INTO canon_edges (tenant, run_id, generation, subject, relation, object, role, evidence) "
        "VALUES ('default', 'writer', 1, 'document:policy', 'wasGeneratedBy', 'step:writer/1', 'version of', 'stated')"
    )
    assert store.rows(load("runs_that_made"), asked) == [["writer"]]
