"""A text is found by the index of folded words exactly where the engine finds it without: whatever letters, whatever case."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from story import Story, tell, text

from retrospan.ingest.answer.rewriting.narrowing import narrowed
from retrospan.ingest.warehouse.embedded import EmbeddedStore, EmbeddedWarehouse

#: To the engine's ILIKE the sign of Kelvin is a k, in some patterns the long s an s; to Python more is more.
LETTERS = "kKsSiIoOn0\u212a\u017f\u0130\u0131\u00df\u00e9\u00c9\ufb06 -_.'\"\n"
SAID = (
    "Book of the week",
    "boo\u212a of the wee\u212a",
    "Order O-c15b-208 was \u017fent",
    "ORDER o-C15B-208 was SENT",
    "caf\u00e9123 and CAF\u00c9 x",
    "\u0130stanbul abi\u0307 AB\u0130",
    "snake_case and kebab-case",
    "a.b.c 'quoted' \"double\" back\\slash",
    "\ufb06art \u00dfss SS",
    "",
)
PIECES = st.one_of(
    st.text(LETTERS, max_size=6), st.sampled_from([word for said in SAID for word in said.split()])
)
PATTERNS = st.lists(st.one_of(PIECES, st.sampled_from("%_ ")), min_size=1, max_size=5).map("".join)


@pytest.fixture(scope="module")
def told(module_warehouse: EmbeddedWarehouse) -> Iterator[EmbeddedStore]:
    store = module_warehouse.connect()
    stories = [Story(f"r{place}") for place in range(len(SAID))]
    for story, said in zip(stories, SAID, strict=True):
        story.model(text("assistant", said))
    tell(store, *stories)
    yield store
    store.close()


@settings(max_examples=60, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(pattern=PATTERNS, like=st.sampled_from(["LIKE", "ILIKE"]), view=st.sampled_from(["messages", "texts"]))
@example(pattern="%the week%", like="ILIKE", view="texts")
@example(pattern="%book of the w%", like="ILIKE", view="texts")
@example(pattern="%was sent%", like="ILIKE", view="texts")
@example(pattern="%o-c15b-208 was_s%nt%", like="ILIKE", view="messages")
@example(pattern="%abi%", like="ILIKE", view="texts")
@example(pattern="%\u00e9123 and %", like="ILIKE", view="texts")
@example(pattern="%snake_case%", like="LIKE", view="texts")
def test_nothing_is_lost_and_nothing_is_found_besides(
    told: EmbeddedStore, pattern: str, like: str, view: str
) -> None:
    column = {"messages": "content", "texts": "text"}[view]
    asked = f"SELECT run_id, {column} FROM {view} WHERE {column} {like} {{pattern:String}} ORDER BY ALL"
    parameters = {"pattern": f"%{pattern}%"}
    fast = narrowed(asked, parameters)
    assert fast != asked
    assert told.rows(fast, parameters) == told.rows(asked, parameters)


@pytest.mark.parametrize("pattern", ["%order o-c15b-208%", "%tanbu%"])
def test_the_index_answers_for_words_and_for_parts_of_words(told: EmbeddedStore, pattern: str) -> None:
    asked = narrowed(f"SELECT run_id FROM messages WHERE content ILIKE '{pattern}'")
    of_values = asked.partition("run_id IN (")[2].removesuffix("))")
    plan = told.rows(f"EXPLAIN indexes = 1 {of_values}")
    assert any("by_folded_word" in str(line) for (line,) in plan), plan
