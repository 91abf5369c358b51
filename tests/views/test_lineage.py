"""Provenance over runs: by observations, entities, documents and outputs, up to sources and down to what they touched."""

from __future__ import annotations

from typing import Any

import pytest
from story import SECOND, START, Ask, Story, calls, tell, text

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas import attributes
from retrospan.schemas.hashing import hash_of
from retrospan.schemas.references import observation_ref, step_ref


def _walk(ask: Ask, ref: str, direction: str = "up", depth: int = 30) -> list[dict[str, Any]]:
    return ask(
        "SELECT * FROM provenance(ref = {ref:String}, depth = {depth:UInt32}, direction = {direction:String}) "
        "ORDER BY depth, subject, object",
        ref=ref,
        depth=depth,
        direction=direction,
    )


def _run(run_id: str, asked: str, *, minute: int = 0) -> Story:
    """A run of one model call."""
    story = Story(run_id, started_at=START + minute * 60 * SECOND)
    story.hear(text("user", asked))
    story.model(text("assistant", f"done: {asked}"))
    return story


def _observe(story: Story, name: str, limit: int) -> None:
    """Let step 1 of the run say the limit of `config/acme/eu`, and when it began to hold."""
    said = {
        attributes.ENTITY_TYPE: "config",
        attributes.ENTITY_ID: "acme/eu",
        attributes.CHANGES: {"limit": limit},
        attributes.OBSERVATION_ID: name,
    }
    story.event(attributes.OBSERVATION, 1, said)


def _use(story: Story, *, minute: int) -> None:
    """Let step 1 of the run use the entity, without saying which observation."""
    said = {attributes.ENTITY_TYPE: "config", attributes.ENTITY_ID: "acme/eu"}
    story.event(attributes.USE, 1, said, at=START + minute * 60 * SECOND)


def test_that_a_document_is_a_version_of_another_is_told_once_and_of_no_run(
    views: EmbeddedStore, ask: Ask
) -> None:
    for name in ("one", "two"):
        story = Story(name, conversation="c")
        story.hear(text("user", "What does the policy say?"))
        story.model(calls("read", doc="policy-7"))
        story.tool(
            "read", {"doc": "policy-7"}, [{"doc_id": "policy-7", "content": "Refunds take five days."}]
        )
        story.model(text("assistant", f"Five days, says {name}."))
        story.tell(views)
    down = _walk(ask, "document:policy-7", "down")
    versions = [row for row in down if row["role"] == "version of"]
    assert [(row["depth"], row["run_id"], row["step"], row["at"]) for row in versions] == [
        (1, "", None, None)
    ]
    assert {row["run_id"] for row in down if row["depth"] == 2} == {"one", "two"}


@pytest.mark.long
def test_from_an_output_over_runs_to_its_sources_and_down_from_a_document(
    views: EmbeddedStore, ask: Ask
) -> None:
    source = _run("source", "read the policy")
    source.edge(step_ref("source", 1), "used", "document:policy.pdf", step=1)
    source.edge(observation_ref("4091"), "wasGeneratedBy", step_ref("source", 1), step=1)
    source.tell(views)
    middle = _run("middle", "write the report", minute=5)
    middle.edge(step_ref("middle", 1), "used", observation_ref("4091"), step=1)
    middle.edge("output:2841", "wasGeneratedBy", step_ref("middle", 1), step=1)
    middle.tell(views)
    reader = _run("reader", "mail the report", minute=9)
    reader.edge(step_ref("reader", 1), "used", "output:2841", step=1)
    reader.tell(views)
    _run("elsewhere", "something else").tell(views)

    up = _walk(ask, "output:2841")
    edges = {(row["depth"], row["subject"], row["relation"], row["object"], row["run_id"]) for row in up}
    assert (1, "output:2841", "wasGeneratedBy", "step:middle/1", "middle") in edges
    assert (2, "step:middle/1", "used", "observation:4091", "middle") in edges
    assert (3, "observation:4091", "wasGeneratedBy", "step:source/1", "source") in edges
    assert (4, "step:source/1", "used", "document:policy.pdf", "source") in edges
    assert {row["run_id"] for row in up if row["depth"]} == {"middle", "source"}
    assert not any(row["truncated"] for row in up)

    down = _walk(ask, "document:policy.pdf", "down")
    reached = {row["subject"] for row in down}
    answers = {
        f"message:{hash_of(text('assistant', f'done: {asked}'))}"
        for asked in ("write the report", "mail the report")
    }
    assert {"observation:4091", "output:2841", "step:reader/1"} | answers <= reached
    assert {row["run_id"] for row in down if row["depth"]} == {"source", "middle", "reader"}
    assert [row for row in down if row["depth"] == 2 and row["truncated"]] == []


@pytest.mark.soak
def test_who_used_an_entity_used_what_held_then(views: EmbeddedStore, ask: Ask) -> None:
    for name, minute in (("early", 1), ("later", 5), ("too-late", 9)):
        story = _run(name, name, minute=minute)
        _observe(story, f"o-{name}", minute * 100)
        story.tell(views)
    user = _run("user", "use it", minute=6)
    _use(user, minute=7)
    user.edge("output:x%2Fy", "wasGeneratedBy", step_ref("user", 1), step=1)
    user.tell(views)

    up = _walk(ask, "output:x%2Fy")
    used = {row["object"]: row for row in up if row["relation"] == "used"}
    assert {"observation:o-later", "entity:config/acme%2Feu"} <= used.keys()
    assert not {"observation:o-early", "observation:o-too-late"} & used.keys()
    assert (used["observation:o-later"]["evidence"], used["observation:o-later"]["role"]) == (
        "inferred",
        "limit",
    )
    assert used["observation:o-later"]["label"] == "config/acme/eu limit = 500"
    assert {row["run_id"] for row in up if row["depth"]} == {"user", "later"}

    of_entity = _walk(ask, "entity:config/acme%2Feu", depth=2)
    assert {row["object"] for row in of_entity if row["depth"] == 1} == {
        "observation:o-early",
        "observation:o-later",
        "observation:o-too-late",
    }
    assert {row["object"] for row in of_entity if row["depth"] == 2} == {
        f"step:{run}/1" for run in ("early", "later", "too-late")
    }
    assert "step:user/1" in {row["subject"] for row in _walk(ask, "entity:config/acme%2Feu", "down", depth=2)}


def test_a_span_starts_at_its_step_and_a_cycle_over_runs_ends(views: EmbeddedStore, ask: Ask) -> None:
    for run, made, taken in (("a", "output:a", "output:b"), ("b", "output:b", "output:a")):
        story = _run(run, run)
        story.edge(made, "wasGeneratedBy", step_ref(run, 1), step=1)
        story.edge(step_ref(run, 1), "used", taken, step=1)
        spans = [
            {
                "tenant": "default",
                "trace_id": run,
                "span_id": f"{1:016x}",
                "generation": 1,
                "run_id": run,
                "operation": "inference",
            }
        ]
        views.insert(
            "INSERT INTO canon_spans", "\n".join(map(str, spans)).replace("'", '"').encode(), "JSONEachRow"
        )
        story.tell(views)
    up = _walk(ask, f"span:a/{1:016x}", depth=400)
    assert (up[0]["subject"], up[0]["object"]) == (f"span:a/{1:016x}", "step:a/1")
    assert [
        row["object"] for row in up if row["relation"] == "used" and row["object"].startswith("output:")
    ] == [
        "output:b",
        "output:a",
    ]
    assert max(row["depth"] for row in up) < 8 and not any(row["truncated"] for row in up)


@pytest.mark.long
def test_a_thing_that_too_many_runs_share_is_cut_and_says_so(views: EmbeddedStore, ask: Ask) -> None:
    stories = [_run(f"r{number:04}", "read it") for number in range(1_100)]
    for story in stories:
        story.edge(step_ref(story.run_id, 1), "used", "document:bad")
    tell(views, *stories)
    (said,) = ask(
        "SELECT count() AS found, uniqExact(run_id) AS runs, countIf(truncated) AS cut, max(depth) AS deepest "
        "FROM provenance(ref = 'document:bad', depth = 9, direction = 'down') "
    )
    assert int(said["runs"]) <= 1_002 and int(said["found"]) >= 1_000
    assert int(said["cut"]) >= 1
