"""Two runs aligned by content: insertions, moves, forks, resumes; ids in texts do not count."""

from __future__ import annotations

from typing import Any

import pytest
from story import Ask, Story, calls, text

from retrospan.ingest.interpret.spans.span import Link
from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas import attributes

Place = tuple[int | None, int | None, str, str, str]
DIFF = "SELECT * FROM run_diff(a = {a:String}, b = {b:String}) ORDER BY position, aspect"


def diff(ask: Ask, a: str = "a", b: str = "b") -> list[Place]:
    return [
        (row["step_a"], row["step_b"], row["change"], row["aspect"], row["detail"])
        for row in ask(DIFF, a=a, b=b)
    ]


def divergence(ask: Ask, a: str = "a", b: str = "b") -> dict[str, Any]:
    (row,) = ask("SELECT * FROM run_divergence(a = {a:String}, b = {b:String})", a=a, b=b)
    return row


def searching(run_id: str, queries: str, answer: str = "done", system: str = "be brief") -> Story:
    """Asks for one search after the other, by letters, and answers."""
    story = Story(run_id)
    story.hear(text("user", "look it up"))
    for query in queries:
        story.model(calls("search", q=query), system=system)
        story.tool("search", {"q": query}, f"found {query}")
    story.model(text("assistant", answer), system=system)
    return story


def descends(story: Story, kind: str, parent: str, **said: object) -> Story:
    story.root.links.append(
        Link(
            trace_id=parent,
            span_id="0" * 16,
            attributes={attributes.LINK_TYPE: kind, attributes.RUN_ID: parent},
        )
    )
    story.root.attributes = {**story.root.attributes, **said}
    return story


def test_one_more_call_at_the_start_leaves_the_rest_recognised(views: EmbeddedStore, ask: Ask) -> None:
    searching("a", "xyz").tell(views)
    searching("b", "wxyz").tell(views)
    assert diff(ask) == [
        (None, 1, "only_b", "answer", ""),
        (None, 2, "only_b", "tool", ""),
        (1, 3, "changed", "prompt", "messages"),
        *((n, n + 2, "same", "", "") for n in range(2, 8)),
    ]
    found = divergence(ask)
    # Both were asked the same, and answered otherwise.
    assert (found["cause"], found["aspect"], found["step_a"], found["step_b"]) == ("sampling", "answer", 1, 1)
    assert (found["value_a"], found["value_b"]) == ('search({"q":"x"})', 'search({"q":"w"})')


def with_ids(run_id: str, queries: str) -> Story:
    """A run whose calls have ids: they count in the order in which they come."""
    story = Story(run_id)
    story.hear(text("user", "look it up"))
    for query in queries:
        story.model(calls("search", f"{run_id}-{query}", q=query))
        story.tool("search", {"q": query}, f"found {query}", call_id=f"{run_id}-{query}")
    story.model(text("assistant", "done"))
    return story


ONE_MORE = [
    (None, 1, "only_b", "answer", ""),
    (None, 2, "only_b", "tool", ""),
    (1, 3, "changed", "prompt", "messages"),
    *((n, n + 2, "same", "", "") for n in range(2, 8)),
]


def test_one_more_call_is_no_other_id_of_each_that_follows(views: EmbeddedStore, ask: Ask) -> None:
    with_ids("a", "xyz").tell(views)
    with_ids("b", "wxyz").tell(views)
    assert diff(ask) == ONE_MORE


@pytest.mark.long
def test_the_view_says_the_same_of_ids(views: EmbeddedStore, ask_both: Ask) -> None:
    with_ids("a", "xyz").tell(views)
    with_ids("b", "wxyz").tell(views)
    assert diff(ask_both) == ONE_MORE


@pytest.mark.long
def test_a_removed_call_and_a_moved_one(views: EmbeddedStore, ask_both: Ask) -> None:
    for run_id, order in (("a", "uvwxyz"), ("b", "vwyzx")):
        story = Story(run_id)
        for query in order:
            story.tool("search", {"q": query}, f"found {query}", heard=False)
        story.tell(views)
    assert diff(ask_both) == [
        (1, None, "only_a", "tool", ""),
        (2, 1, "same", "", ""),
        (3, 2, "same", "", ""),
        (4, 5, "moved", "tool", "order"),
        (5, 3, "same", "", ""),
        (6, 4, "same", "", ""),
    ]


@pytest.mark.long
def test_ids_in_texts_do_not_count(views: EmbeddedStore, ask: Ask, ask_both: Ask) -> None:
    for run_id, number in (
        ("a", "123e4567-e89b-42d3-a456-426614174000"),
        ("b", "00112233-4455-6677-8899-aabbccddeeff"),
    ):
        story = Story(run_id)
        story.hear(text("user", f"session {number}: look it up"))
        system = f"your session is {number}"
        story.model(calls("search", session=number), system=system)
        story.tool("search", {"session": number}, {"ticket": number, "said": "yes"})
        story.model(text("assistant", f"done, see call_{number.replace('-', '')}"), system=system)
        story.state(1, session=[number], city="Oslo")
        story.tell(views)
    assert diff(ask_both) == [(n, n, "same", "", "") for n in (1, 2, 3)]
    assert divergence(ask)["identical"] is True
    other = searching("c", "x", answer="ticket 4711")
    other.tell(views)
    searching("d", "x", answer="ticket 4712").tell(views)
    assert divergence(ask, "c", "d")["cause"] == "sampling"  # a number that people use is what was said


@pytest.mark.long
def test_a_fork_is_compared_from_where_it_was_forked(views: EmbeddedStore, ask: Ask, ask_both: Ask) -> None:
    searching("a", "xy").tell(views)
    fork = Story("b")
    fork.hear(text("user", "look it up"))
    fork.history += [calls("search", q="x")]
    fork.tool("search", {"q": "x"}, "found nothing")
    fork.model(text("assistant", "there is none"))
    patch = {attributes.FORK_STEP: 2, attributes.FORK_PATCH: '{"result":"found nothing"}'}
    descends(fork, "forks", "a", **patch).tell(views)
    assert diff(ask_both)[:3] == [
        (1, None, "same", "", "inherited"),
        (2, 1, "changed", "result", ""),
        (3, 2, "changed", "answer", ""),
    ]
    found = divergence(ask)
    assert (found["cause"], found["step_a"], found["step_b"]) == ("patch", 2, 1)
    assert (found["value_a"], found["value_b"]) == ("found x", '{"result":"found nothing"}')
    found = divergence(ask, "b", "a")
    assert (found["cause"], found["value_a"], found["identical"]) == (
        "patch", '{"result":"found nothing"}', False,
    )  # fmt: skip
    assert diff(ask, "b", "a")[0] == (None, 1, "same", "", "inherited")


@pytest.mark.long
def test_a_fork_of_a_loop_that_was_run_from_the_start_is_compared_from_there(
    views: EmbeddedStore, ask: Ask, ask_both: Ask
) -> None:
    searching("a", "xxxx").tell(views)
    fork = searching("b", "xx")
    patch = {attributes.FORK_STEP: 5, attributes.FORK_PATCH: '{"system":"stop"}'}
    descends(fork, "forks", "a", **patch).tell(views)
    assert [row[:3] for row in diff(ask_both)][:4] == [(n, n, "same") for n in (1, 2, 3, 4)]
    found = divergence(ask)
    assert (found["cause"], found["step_a"]) == ("patch", 5)


def test_a_resumed_run_goes_on_from_where_it_resumed(views: EmbeddedStore, ask: Ask) -> None:
    first = searching("a", "xy")
    first.acts, first.has_root = first.acts[:3], False
    first.tell(views)
    second = Story("b")
    second.hear(text("user", "look it up"))
    second.history += searching("b", "xy").history[1:-1]
    second.model(text("assistant", "done"))
    descends(second, "resumes", "a").tell(views)
    assert diff(ask) == [
        *((n, None, "same", "", "inherited") for n in (1, 2, 3)),
        (None, 1, "only_b", "answer", ""),
    ]
    found = divergence(ask)
    assert (found["prefix"], found["cause"]) == ("a", "")
