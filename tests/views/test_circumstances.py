"""`circumstances` counts what runs of two sides ran with, and tells a change from chance."""

from __future__ import annotations

from typing import Any

import pytest
from populations import START, made, write
from story import SECOND, Ask, Story, tell, text

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas.hashing import hash_of

_ASK = (
    "SELECT * FROM circumstances(baseline_from = '', baseline_to = '', baseline_version = 'a', candidate_from = '', "
    "candidate_to = '', candidate_version = 'b', agent = {agent:String})"
)


def runs(version: str, count: int, **said: Any) -> list[Story]:
    """Return so many runs of one version that are told alike; `said` are arguments of the model call.

    `{}` in the prompt is the number of the run.
    """
    stories: list[Story] = []
    for number in range(count):
        story = Story(
            f"{version}-{number:04d}",
            version=version,
            started_at=(START + number) * SECOND,
            tenant=said.get("tenant", "default"),
        )
        story.hear(text("user", "x" * said.get("length", 10)))
        story.model(
            text("assistant", "Done."),
            system=said.get("system", "be brief").replace("{}", str(number)),
            model=said.get("model", "m-1"),
            agent=said.get("agent"),
        )
        story.tool("look", {"id": 1}, said.get("result", "same"))
        story.edge(
            f"step:{story.run_id}/2", "used", f"document:kb/a%2Fb@{said.get('document', 'v1')}", step=2
        )
        stories.append(story)
    return stories


def told(ask: Ask, agent: str = "") -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(row["part"], row["name"], row["value"]): row for row in ask(_ASK, agent=agent)}


def changed(rows: dict[tuple[str, str, str], dict[str, Any]]) -> set[str]:
    return {part for (part, _, _), row in rows.items() if row["changed"]}


def test_each_part_that_was_changed_is_found(views: EmbeddedStore, ask: Ask) -> None:
    new = runs("b", 30, system="be kind", model="m-2", result="other", document="v2", length=300)
    tell(views, *runs("a", 30), *new)
    rows = told(ask)
    assert changed(rows) == {
        "agent_version", "system_prompt", "model", "answering_model", "tool_result", "document", "input_length",
    }  # fmt: skip
    row = rows["model", "orla", "m-2"]
    assert (row["baseline_runs"], row["candidate_runs"], row["baseline_n"], row["candidate_n"]) == (
        0,
        30,
        30,
        30,
    )
    assert row["candidate_examples"] == ["b-0000", "b-0001", "b-0002"] and row["baseline_examples"] == []
    assert (row["found_in"], row["found_call"]) == ("b-0000", 1) and row["p_value"] < 1e-9
    assert rows["document", "document:kb/a%2Fb", "v2"]["candidate_runs"] == 30
    assert rows["tool", "", "look"]["p_value"] == 1


def test_contents_of_a_document_are_versions_unless_one_run_read_several(
    views: EmbeddedStore, ask: Ask
) -> None:
    stories = [*runs("a", 12), *runs("b", 12)]
    for number, story in enumerate(stories):
        name = "old" if number < 12 else "new"
        whole, chunks = hash_of(name), [hash_of(f"{name} {part}") for part in range(2)]
        for reference in (
            *(f"document:store/whole@{whole}", "document:store/whole", "document:whole"),
            *(f"document:store/chunked@{chunk}" for chunk in chunks[: 1 + number % 2]),
        ):
            story.edge(f"step:{story.run_id}/2", "used", reference, step=2)
    tell(views, *stories)
    rows = told(ask)
    assert {(name, row["changed"]) for (part, name, _), row in rows.items() if part == "document"} == {
        ("", False),
        ("document:kb/a%2Fb", False),
        ("document:store/whole", True),
    }
    assert {value for part, name, value in rows if part == "document" and not name} == {
        "document:store/whole"
    }


def test_of_prompts_that_each_run_has_its_own_both_sides_are_kept(views: EmbeddedStore, ask: Ask) -> None:
    tell(views, *runs("a", 60, system="It is {} o'clock."), *runs("b", 8, system="Now it is {}."))
    prompts = [row for row in ask(_ASK, agent="") if row["part"] == "system_prompt"]
    assert len(prompts) == 20
    # The earliest of the baseline and the latest of the candidate: there are more of the former by far.
    assert {row["found_in"] for row in prompts} == {
        *(f"a-{number:04d}" for number in range(12)),
        *(f"b-{number:04d}" for number in range(8)),
    }


def test_equal_sides_and_chance_change_nothing(views: EmbeddedStore, ask: Ask) -> None:
    tell(views, *runs("a", 30), *runs("b", 30))
    assert changed(told(ask)) == {"agent_version"}
    write(views, "other", "a", made("one", 150))
    write(views, "other", "b", made("two", 150))
    rows = [row for row in ask(_ASK, agent="") if row["tenant"] == "other"]
    assert {row["part"] for row in rows if row["changed"]} == {"agent_version"}
    assert {row["value"] for row in rows if row["part"] == "tool"} == {
        "search",
        "read",
        "write",
        "send",
        "refund",
    }


def test_too_few_runs_have_no_verdict(views: EmbeddedStore, ask: Ask) -> None:
    tell(views, *runs("a", 9), *runs("b", 30, model="m-2"))
    rows = told(ask)
    assert changed(rows) == set()
    assert rows["model", "orla", "m-2"]["p_value"] is None


def test_sides_are_of_one_agent_and_one_tenant(views: EmbeddedStore, ask: Ask) -> None:
    tell(views, *runs("a", 12), *runs("b", 12, model="m-2", tenant="theirs"))
    assert {row["candidate_runs"] for row in ask(_ASK, agent="") if row["tenant"] == "default"} == {0}
    assert told(ask, "nobody") == {}


def test_a_deleted_run_and_an_older_reading_do_not_count(views: EmbeddedStore, ask: Ask) -> None:
    tell(views, *runs("a", 12), *runs("b", 12))
    views.command(
        "INSERT INTO canon_runs SELECT * REPLACE (generation + 1 AS generation, run_id = 'a-0001' AS deleted) "
        "FROM canon_runs WHERE run_id IN ('a-0000', 'a-0001')"
    )
    rows = told(ask)
    # Of the run that is being read again, the rows of its new generation are not there.
    assert rows["agent", "", "orla"]["baseline_runs"] == 11
    assert rows["model", "orla", "m-1"]["baseline_runs"] == 10


@pytest.mark.long
def test_of_many_runs_some_are_looked_at_always_the_same(views: EmbeddedStore, ask: Ask) -> None:
    write(views, "default", "a", made("many", 500))
    write(views, "default", "b", made("few", 50))
    rows = told(ask)
    assert (rows["agent", "", "orla"]["baseline_n"], rows["agent", "", "orla"]["candidate_n"]) == (200, 50)
    assert rows == told(ask)
