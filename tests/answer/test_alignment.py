"""Which steps stand beside which: as many of equal content as a slow oracle finds, the same in Python and in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from retrospan.ingest.answer.computed import common_steps as common
from retrospan.ingest.answer.computed.alignment import Key, Place, aligned
from retrospan.ingest.answer.computed.common_steps import common_steps
from retrospan.ingest.answer.computed.descent import Descent, inherited_steps
from retrospan.ingest.warehouse.embedded import EmbeddedStore

PAIRS = 500
#: Calls of the same name: what tells them apart is what they were given.
CALLS = st.lists(st.sampled_from("abcdef"), max_size=12)


@st.composite
def edited(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """A run, and the same with steps inserted, removed, moved and repeated."""
    a = draw(CALLS)
    b = list(a)
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, max(len(b) - 1, 0)))
        match draw(st.sampled_from(("insert", "remove", "move", "repeat"))):
            case "insert":
                b.insert(place, draw(st.sampled_from("abcdefxyz")))
            case "remove" if b:
                b.pop(place)
            case "move" if b:
                b.insert(draw(st.integers(0, len(b) - 1)), b.pop(place))
            case "repeat" if b:
                b.insert(place, b[place])
            case _:
                pass
    return a, b


def most_in_common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many steps can be recognised in the order of both, by trying everything."""

    @lru_cache(None)
    def most(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        skipped = max(most(i + 1, j), most(i, j + 1))
        return max(skipped, 1 + most(i + 1, j + 1)) if a[i] == b[j] else skipped

    return most(0, 0)


def every_best(a: Sequence[str], b: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Return every way to recognise as many as possible, by trying everything."""
    best: list[list[tuple[int, int]]] = [[]]

    def go_on(i: int, j: int, found: list[tuple[int, int]]) -> None:
        if len(found) > len(best[0]):
            best.clear()
        if not best or len(found) == len(best[0]):
            best.append(found)
        for x in range(i, len(a)):
            for y in range(j, len(b)):
                if a[x] == b[y]:
                    go_on(x + 1, y + 1, [*found, (x, y)])

    go_on(0, 0, [])
    return best


def _keys(calls: Sequence[str]) -> list[Key]:
    return [Key("tool", "search", call) for call in calls]


@settings(max_examples=PAIRS, deadline=None)
@given(edited())
@example((list("ab"), list("xabyb")))
def test_as_many_steps_are_recognised_as_by_the_oracle(runs: tuple[list[str], list[str]]) -> None:
    a, b = runs
    places = aligned(_keys(a), _keys(b))
    same = [p for p in places if p.step_a and p.step_b and a[p.step_a - 1] == b[p.step_b - 1]]
    in_order = [p for p in same if not p.moved]
    assert len(in_order) == most_in_common(a, b)
    # What is left and has its equal elsewhere has moved: nothing equal stays unrecognised.
    assert len(same) == sum(min(a.count(call), b.count(call)) for call in set(a))


@settings(max_examples=PAIRS, deadline=None)
@given(edited())
def test_every_step_stands_once_and_in_the_order_of_both(runs: tuple[list[str], list[str]]) -> None:
    places = aligned(_keys(runs[0]), _keys(runs[1]))
    assert sorted(p.step_a for p in places if p.step_a) == list(range(1, len(runs[0]) + 1))
    assert sorted(p.step_b for p in places if p.step_b) == list(range(1, len(runs[1]) + 1))
    assert [p.step_a for p in places if p.step_a] == sorted(p.step_a for p in places if p.step_a)
    settled = [p for p in places if not p.moved]
    assert [p.step_b for p in settled if p.step_b] == sorted(p.step_b for p in settled if p.step_b)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6))
def test_ties_go_to_the_earliest(a: list[str], b: list[str]) -> None:
    earliest = min(every_best(a, b), key=lambda pairs: ([i for i, _ in pairs], [j for _, j in pairs]))
    assert common_steps(a, b) == earliest


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edited())
def test_the_engine_finds_the_same(store: EmbeddedStore, runs: tuple[list[str], list[str]]) -> None:
    a, b = ([ord(call) for call in calls] for calls in runs)
    asked: dict[str, Any] = {"a": a, "b": b}
    for function, ours in (
        ("retrospan_in_common", common_steps(a, b)),
        ("retrospan_in_turn", common.in_turn(a, b)),
    ):
        rows = store.rows(
            f"SELECT pair.1, pair.2 FROM (SELECT {function}({{a:Array(UInt64)}}, {{b:Array(UInt64)}}) AS pairs)"
            " ARRAY JOIN pairs AS pair",
            asked,
        )
        assert [(int(str(i)) - 1, int(str(j)) - 1) for i, j in rows] == ours


def test_long_runs_are_aligned_by_what_they_begin_and_end_with(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = list(range(30_000))
    b = [*a[:100], 77_777, *a[100:20_000], *a[20_001:]]
    pairs = common_steps(a, b)
    assert len(pairs) == len(a) - 1
    monkeypatch.setattr(common, "MOST_PAIRS", 1000)
    assert len(common_steps(a, b)) == len(a) - 1
    asked: dict[str, Any] = {"n": len(a)}
    ((found,),) = store.rows(
        "WITH range({n:UInt64}) AS a,"
        " arrayConcat(arraySlice(a, 1, 100), [77777], arraySlice(a, 101, 19900), arraySlice(a, 20002)) AS b "
        "SELECT length(retrospan_in_common(a, b))",
        asked,
    )
    assert found == len(a) - 1


def test_by_name_and_then_tools_by_place() -> None:
    a = [Key("model", "orla", "1"), Key("tool", "hold", "x"), Key("model", "orla", "2"), Key("node", "n", "")]
    b = [Key("model", "orla", "3"), Key("tool", "send", "x"), Key("model", "orla", "4"), Key("node", "m", "")]
    assert aligned(a, b) == [Place(1, 1), Place(2, 2), Place(3, 3), Place(4, 0), Place(0, 4)]


def test_steps_of_unknown_content_are_not_said_to_have_moved() -> None:
    unknown, known = Key("tool", "t", None), Key("tool", "u", "1")
    assert aligned([unknown, known], [known, unknown]) == [Place(1, 2), Place(2, 1, moved=True)]
    assert not any(place.moved for place in aligned([unknown], [known, unknown, known]))


@pytest.mark.parametrize(
    ("link", "fork_step", "child", "inherited"),
    [
        ("forks", 3, "cz", 2),
        ("forks", 3, "xz", 2),  # changed where it was forked
        ("forks", 9, "bz", 1),  # a number of somebody else's counting
        ("forks", 0, "yz", 0),
        ("forks", 2, "abz", 0),  # run from the start
        ("resumes", 0, "z", 4),
        ("resumes", 0, "dz", 3),
        ("resumes", 0, "", 0),
    ],
)
def test_what_a_run_inherits(link: str, fork_step: int, child: str, inherited: int) -> None:
    parent = _keys("abcd")
    assert inherited_steps(Descent(link, fork_step), parent, _keys(child), len(parent)) == inherited


@pytest.mark.parametrize(("child", "inherited"), [("ababz", 0), ("abz", 4), ("abab", 0), ("a", 4)])
def test_a_fork_in_a_loop_was_run_from_the_start_where_it_repeats_what_came_before(
    child: str, inherited: int
) -> None:
    assert inherited_steps(Descent("forks", 5), _keys("ababab"), _keys(child), 6) == inherited
