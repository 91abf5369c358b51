"""Where answers come from: the walk over provenance edges, in both directions."""

from __future__ import annotations

from typing import Any

import pytest
from story import SECOND, START, Ask, Story, calls, gives, text

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas.hashing import hash_of


def _refund(run_id: str, **run: Any) -> Story:
    story = Story(run_id, **run)
    story.hear(text("user", "may I have a refund?"))
    story.model(calls("search", q="refund"))
    story.tool("search", {"q": "refund"}, "within 30 days")
    story.model(text("assistant", "yes, within 30 days"))
    return story


def _walk(ask: Ask, ref: str, depth: int = 20, direction: str = "up") -> list[dict[str, Any]]:
    return ask(
        "SELECT * FROM provenance(ref = {ref:String}, depth = {depth:UInt32}, direction = {direction:String}) "
        "ORDER BY depth, subject, object",
        ref=ref,
        depth=depth,
        direction=direction,
    )


def _message(said: dict[str, Any]) -> str:
    return f"message:{hash_of(said)}"


@pytest.mark.long
def test_an_answer_leads_to_the_users_words(views: EmbeddedStore, ask: Ask) -> None:
    _refund("r").tell(views)
    _refund("s").tell(views)  # says the same; must not be mixed in
    rows = _walk(ask, "run:r")
    answer, user = (
        _message(text("assistant", "yes, within 30 days")),
        _message(text("user", "may I have a refund?")),
    )
    asked, found = _message(calls("search", q="refund")), _message(gives("within 30 days"))
    edges = {(r["depth"], r["subject"], r["relation"], r["object"]) for r in rows}
    assert edges == {
        (0, "run:r", "", answer),
        (1, answer, "wasGeneratedBy", "step:r/3"),
        (1, answer, "wasDerivedFrom", found),
        (2, found, "wasGeneratedBy", "step:r/2"),
        (2, "step:r/3", "used", user),
        (2, "step:r/3", "used", asked),
        (2, "step:r/3", "used", found),
        (3, asked, "wasGeneratedBy", "step:r/1"),
        (3, "step:r/2", "wasInformedBy", "step:r/1"),
        (4, "step:r/1", "used", user),
    }
    assert {r["run_id"] for r in rows} == {"r"}
    assert not any(r["truncated"] for r in rows)
    labels = {r["object"]: r["label"] for r in rows}
    assert labels == {
        answer: "assistant: yes, within 30 days",
        "step:r/3": "model call 2 m-1",
        user: "user: may I have a refund?",
        asked: 'assistant: search({"q":"refund"})',
        found: "tool: within 30 days",
        "step:r/1": "model call 1 m-1",
        "step:r/2": 'search({"q":"refund"})',
    }
    assert {r["role"] for r in rows if r["relation"] == "used"} == {"user", "assistant", "tool"}
    assert {r["evidence"] for r in rows if r["relation"] == "used"} == {"matched"}


def test_down_from_the_users_words_comes_the_answer(views: EmbeddedStore, ask: Ask) -> None:
    _refund("r").tell(views)
    rows = _walk(ask, _message(text("user", "may I have a refund?")), direction="down")
    reached = {r["subject"]: r["depth"] for r in reversed(rows) if r["depth"]}
    assert reached[_message(text("assistant", "yes, within 30 days"))] == 2
    assert reached["step:r/2"] == 2
    label = next(r["label"] for r in rows if r["subject"] == "step:r/2")
    assert label == 'search({"q":"refund"})'


@pytest.mark.long
def test_a_message_starts_in_every_run_that_holds_it_and_a_step_in_its_own(
    views: EmbeddedStore, ask: Ask
) -> None:
    _refund("r").tell(views)
    _refund("s").tell(views)
    said = _message(gives("within 30 days"))
    assert {(r["run_id"], r["object"]) for r in _walk(ask, said, depth=1) if r["depth"] == 1} == {
        ("r", "step:r/2"),
        ("s", "step:s/2"),
    }
    assert {r["run_id"] for r in _walk(ask, "step:s/3")} == {"s"}
    assert _walk(ask, "step:s/99") == _walk(ask, "run:nope") == _walk(ask, "message:nope") == []


@pytest.mark.long
def test_the_depth_ends_the_walk_and_says_so_where_it_goes_on(views: EmbeddedStore, ask: Ask) -> None:
    _refund("r").tell(views)
    rows = _walk(ask, "run:r", depth=2)
    assert max(r["depth"] for r in rows) == 2
    goes_on = {r["object"]: r["truncated"] for r in rows if r["depth"] == 2}
    assert goes_on == {
        _message(text("user", "may I have a refund?")): False,
        _message(calls("search", q="refund")): True,
        _message(gives("within 30 days")): False,
        "step:r/2": True,
    }
    assert [r["depth"] for r in _walk(ask, "run:r", depth=0)] == [0]


@pytest.mark.long
def test_a_cycle_ends(views: EmbeddedStore, ask: Ask) -> None:
    story = _refund("r")
    for subject, object_ in (("output:a", "output:b"), ("output:b", "output:c"), ("output:c", "output:a")):
        story.edge(subject, "wasDerivedFrom", object_)
    story.tell(views)
    rows = _walk(ask, "output:a", depth=400)
    assert [(r["depth"], r["object"]) for r in rows] == [
        (0, "output:a"),
        (1, "output:b"),
        (2, "output:c"),
        (3, "output:a"),
    ]
    assert not any(r["truncated"] for r in rows)


@pytest.mark.long
def test_doubled_edges_and_diamonds_give_each_edge_once(views: EmbeddedStore, ask: Ask) -> None:
    story = _refund("r")
    for level in range(12):
        for side in "xy":
            story.edge(f"output:{level}", "wasDerivedFrom", f"output:{level}{side}")
            story.edge(f"output:{level}", "wasDerivedFrom", f"output:{level}{side}")
            story.edge(f"output:{level}{side}", "wasDerivedFrom", f"output:{level + 1}")
    story.tell(views)
    rows = _walk(ask, "output:0", depth=24)
    assert len(rows) == 1 + 12 * 4
    assert len(ask("SELECT 1 AS n FROM provenance_edges WHERE startsWith(subject, 'output:')")) == 12 * 4


@pytest.mark.long
def test_rows_are_capped_and_the_last_level_says_so(views: EmbeddedStore, ask: Ask) -> None:
    story = _refund("r")
    for n in range(120):
        story.edge("output:top", "wasDerivedFrom", f"output:{n}")
        for m in range(100):
            story.edge(f"output:{n}", "wasDerivedFrom", f"output:{n}/{m}")
    story.tell(views)
    (row,) = ask(
        "SELECT count() AS n, countIf(truncated) AS cut, minIf(depth, truncated) AS at "
        "FROM provenance(ref = 'output:top', depth = 9, direction = 'up')"
    )
    assert row["n"] == 10_000
    assert row["at"] == 2 and row["cut"] == 10_000 - 121


@pytest.mark.long
def test_a_message_without_producer_comes_from_the_latest_earlier_run_of_its_conversation(
    views: EmbeddedStore, ask: Ask
) -> None:
    said = text("assistant", "yes, within 30 days")
    for run_id, minute, conversation in (
        ("first", 1, "c"),
        ("second", 2, "c"),
        ("elsewhere", 3, "d"),
        ("later", 9, "c"),
    ):
        at = START + minute * 60 * SECOND
        _refund(run_id, started_at=at, conversation=conversation).tell(views)
    story = Story("now", started_at=START + 5 * 60 * SECOND, conversation="c")
    story.hear(text("user", "may I have a refund?"), said, text("user", "thanks"))
    story.model(text("assistant", "welcome"))
    story.tell(views)
    rows = _walk(ask, "run:now", depth=3)
    (crossing,) = [r for r in rows if r["subject"] == _message(said)]
    assert (crossing["object"], crossing["run_id"], crossing["evidence"]) == (
        "step:second/3",
        "second",
        "inferred",
    )
    assert {r["run_id"] for r in _walk(ask, "run:now")} == {"now", "second"}
    down = _walk(ask, "step:second/3", direction="down")
    assert _message(text("assistant", "welcome")) in {r["subject"] for r in down}
    assert {r["run_id"] for r in _walk(ask, "run:later")} == {"later"}  # it produced its messages itself


@pytest.mark.long
def test_run_ids_with_slashes_are_encoded(views: EmbeddedStore, ask: Ask) -> None:
    _refund("a/b%c").tell(views)
    rows = _walk(ask, "run:a%2Fb%25c")
    assert "step:a%2Fb%25c/3" in {r["object"] for r in rows}
    assert {r["run_id"] for r in _walk(ask, "step:a%2Fb%25c/1")} == {"a/b%c"}
    assert next(r["label"] for r in rows if r["object"] == "step:a%2Fb%25c/3") == "model call 2 m-1"


@pytest.mark.long
@pytest.mark.parametrize("direction", ["up", "down"])
def test_superseded_edges_are_not_walked(views: EmbeddedStore, ask: Ask, direction: str) -> None:
    story = _refund("r", generation=1)
    story.edge("output:old", "wasDerivedFrom", "output:older")
    story.tell(views)
    _refund("r", generation=2).tell(views)
    assert _walk(ask, "output:old", direction=direction) == []
    assert len(_walk(ask, "run:r")) == 10
