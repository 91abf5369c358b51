"""Where two runs diverge and why, one test per cause; and what must not count as difference."""

from __future__ import annotations

from typing import Any

import pytest
from story import SECOND, START, Ask, Story, calls, text

from retrospan.ingest.warehouse.embedded import EmbeddedStore
from retrospan.schemas import semconv


def _ship(run_id: str, **changes: Any) -> Story:
    """Looks two things up, decides, acts, answers. `changes` says what is different this time."""
    story = Story(run_id, **changes.get("run", {}))
    if "service_version" in changes:
        story.resource["service.version"] = changes["service_version"]
    story.hear(text("user", changes.get("ask", "ship O-77?")))
    system, model = changes.get("system", "be brief"), changes.get("model", "m-1")
    story.model(calls("search", q="O-77"), system=system, model=model)
    story.tool("search", {"q": "O-77"}, changes.get("found", ["in stock"]))
    story.model(calls("weather", city="Oslo"), system=system, model=model)
    story.tool("weather", {"city": "Oslo"}, "snow")
    act = changes.get("act", "hold")
    story.model(calls(act, id="O-77"), system=system, model=model)
    story.tool(act, {"id": "O-77"}, "done")
    story.model(text("assistant", f"{act} it"), system=system, model=model)
    return story


def _divergence(ask: Ask, a: str = "a", b: str = "b") -> dict[str, Any]:
    (row,) = ask("SELECT * FROM run_divergence(a = {a:String}, b = {b:String})", a=a, b=b)
    return row


def _diff(ask: Ask, a: str = "a", b: str = "b") -> list[tuple[Any, ...]]:
    rows = ask("SELECT * FROM run_diff(a = {a:String}, b = {b:String}) ORDER BY position, aspect", a=a, b=b)
    return [(r["position"], r["step_a"], r["step_b"], r["change"], r["aspect"]) for r in rows]


@pytest.mark.long
def test_the_same_story_at_another_time_with_other_ids_and_tokens_is_identical(
    views: EmbeddedStore, ask: Ask
) -> None:
    _ship("a").tell(views)
    later = _ship("b", run={"started_at": START + 1000 * SECOND, "takes": SECOND // 3})
    for number, span in enumerate(later.acts):
        span.span_id = f"{number + 77:016x}"
        if semconv.USAGE_INPUT_TOKENS in span.attributes:
            span.attributes = {**span.attributes, semconv.USAGE_INPUT_TOKENS: 99}
        else:
            span.attributes = {**span.attributes, semconv.TOOL_CALL_ID: f"other-{number}"}
    later.tell(views)
    for a, b in (("a", "b"), ("a", "a")):
        assert _divergence(ask, a, b) == {
            "step_a": None,
            "step_b": None,
            "aspect": "",
            "cause": "",
            "value_a": None,
            "value_b": None,
            "identical": True,
            "prefix": "none",
            "position": None,
            "shown_cause": "",
        }
        assert _diff(ask, a, b) == [(n, n, n, "same", "") for n in range(1, 8)]


@pytest.mark.long
def test_sampling_the_same_request_got_another_answer(views: EmbeddedStore, ask: Ask) -> None:
    _ship("a").tell(views)
    _ship("b", act="send").tell(views)
    found = _divergence(ask)
    assert (found["step_a"], found["step_b"], found["aspect"], found["cause"]) == (5, 5, "answer", "sampling")
    assert (found["value_a"], found["value_b"]) == ('hold({"id":"O-77"})', 'send({"id":"O-77"})')
    assert (found["identical"], found["prefix"]) == (False, "none")
    assert _diff(ask) == [
        (1, 1, 1, "same", ""),
        (2, 2, 2, "same", ""),
        (3, 3, 3, "same", ""),
        (4, 4, 4, "same", ""),
        (5, 5, 5, "changed", "answer"),
        (6, 6, 6, "changed", "tool"),
        (7, 7, 7, "changed", "answer"),
        (7, 7, 7, "changed", "prompt"),
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("changes", "cause", "aspect", "step"),
    [
        ({"ask": "ship O-78?"}, "input", "prompt", 1),
        ({"run": {"version": "1.1"}, "act": "send"}, "code", "answer", 5),
        (
            {"service_version": "9", "act": "send"},
            "sampling",
            "answer",
            5,
        ),  # unknown in the other run
        ({"model": "m-2"}, "model", "model", 1),
        ({"system": "be kind"}, "prompt", "prompt", 1),
        ({"found": ["sold out"]}, "tool_result", "result", 2),
    ],
)
def test_the_cause_is_the_first_that_holds(
    views: EmbeddedStore, ask: Ask, changes: dict[str, Any], cause: str, aspect: str, step: int
) -> None:
    _ship("a").tell(views)
    _ship("b", **changes).tell(views)
    found = _divergence(ask)
    assert (found["cause"], found["aspect"], found["step_a"], found["step_b"]) == (cause, aspect, step, step)
    assert not found["identical"]


@pytest.mark.long
def test_causes_keep_their_order_when_several_hold(views: EmbeddedStore, ask: Ask) -> None:
    _ship("a").tell(views)
    everything: dict[str, Any] = {"model": "m-2", "system": "be kind"}
    _ship("b", **everything, ask="x", run={"version": "2"}).tell(views)
    _ship("c", **everything, run={"version": "2"}).tell(views)
    _ship("d", **everything).tell(views)
    assert [_divergence(ask, "a", run)["cause"] for run in "bcd"] == ["input", "code", "model"]


def test_another_start_state_is_another_input(views: EmbeddedStore, ask: Ask) -> None:
    for run_id, city in (("a", "Oslo"), ("b", "Bergen")):
        story = _ship(run_id)
        story.state(1, city=city, same=1)
        story.tell(views)
    found = _divergence(ask)
    assert (found["step_a"], found["cause"], found["aspect"]) == (1, "input", "state")
    assert (found["value_a"], found["value_b"]) == ('{"city":"Oslo"}', '{"city":"Bergen"}')


def test_a_state_that_is_known_of_one_run_only_is_not_a_difference(views: EmbeddedStore, ask: Ask) -> None:
    for run_id in "ab":
        story = _ship(run_id)
        if run_id == "a":
            story.state(1, city="Oslo")
            story.state(3, city="Oslo")
        story.tell(views)
    sources = ask(
        "SELECT run_id, groupUniqArray(state_source) AS s FROM steps GROUP BY run_id ORDER BY run_id"
    )
    assert [row["s"] for row in sources] == [["explicit"], ["messages"]]
    found = _divergence(ask)
    assert (found["aspect"], found["cause"], found["prefix"]) == ("", "", "none")
    assert found["identical"] is False  # nothing differs, yet not all is known to be equal
    assert all(change == "same" for *_, change, _aspect in _diff(ask))


@pytest.mark.long
def test_order_the_same_calls_in_another_order(views: EmbeddedStore, ask: Ask) -> None:
    for run_id, order in (("a", "xyz"), ("b", "yzx")):
        story = Story(run_id)
        story.hear(text("user", "all three"))
        story.model(text("assistant", "both at once"))
        for name in order:
            story.tool(name, {}, "done", heard=False)
        story.tell(views)
    found = _divergence(ask)
    assert (found["cause"], found["aspect"], found["step_a"], found["step_b"]) == ("order", "tool", 2, 4)
    assert (found["value_a"], found["value_b"]) == ("at step 2", "at step 4")
    for run_id, order in (("c", "12"), ("d", "21")):
        story = Story(run_id)
        for query in order:
            story.tool("search", {"q": query}, query, heard=False)
        story.tell(views)
    found = _divergence(ask, "c", "d")
    assert (found["cause"], found["aspect"], found["step_a"], found["step_b"]) == ("order", "tool", 2, 1)


def test_another_state_in_the_same_order_is_no_other_order(views: EmbeddedStore, ask: Ask) -> None:
    for run_id, state, result in (("a", 2, "ok"), ("b", 3, "done before")):
        story = Story(run_id)
        story.tool("look", {}, "open", heard=False)
        story.tool("pay", {"amount": 3}, result, heard=False)
        story.state(1, tries=1)
        story.state(2, tries=state)
        story.tell(views)
    found = _divergence(ask)
    assert (found["cause"], found["aspect"], found["step_a"], found["step_b"]) == ("unknown", "state", 2, 2)


def test_unknown_other_arguments_without_another_answer(views: EmbeddedStore, ask: Ask) -> None:
    for run_id, city in (("a", "Oslo"), ("b", "Bergen")):
        story = Story(run_id)
        story.model(text("assistant", "let me see"))
        story.tool("weather", {"city": city}, "snow")
        story.tell(views)
    found = _divergence(ask)
    assert (found["step_a"], found["aspect"], found["cause"]) == (2, "arguments", "unknown")
    assert (found["value_a"], found["value_b"]) == ('{"city":"Oslo"}', '{"city":"Bergen"}')


def test_a_tool_result_that_only_the_prompt_shows(views: EmbeddedStore, ask: Ask) -> None:
    for run_id, found in (("a", "in stock"), ("b", "sold out")):
        story = Story(run_id)
        story.hear(text("user", "x"))
        story.model(calls("search", q="x"))
        story.hear({"role": "tool", "parts": [{"type": "tool_call_response", "response": found}]})
        story.model(text("assistant", "ok"))
        story.tell(views)
    part = _divergence(ask)
    assert (part["step_a"], part["cause"], part["value_a"]) == (2, "tool_result", "tool: in stock")


def test_a_failed_call_differs_in_error(views: EmbeddedStore, ask: Ask) -> None:
    for run_id, status in (("a", "ok"), ("b", "error")):
        story = Story(run_id)
        story.tool("send", {"to": "x"}, "sent", error="Timeout" if status == "error" else None)
        story.tell(views)
    found = _divergence(ask)
    assert (found["aspect"], found["cause"], found["value_a"]) == ("error", "tool_result", "ok")
    assert found["value_b"] == "error Timeout"


@pytest.mark.long
def test_a_run_cut_short_is_a_prefix(views: EmbeddedStore, ask: Ask) -> None:
    _ship("a").tell(views)
    short = _ship("b")
    short.acts, short.has_root = short.acts[:4], False
    short.tell(views)
    found = _divergence(ask)
    assert (found["prefix"], found["identical"], found["cause"]) == ("b", False, "")
    assert (found["step_a"], found["step_b"]) == (5, None)
    assert _divergence(ask, "b", "a")["prefix"] == "a"
    assert [row[3] for row in _diff(ask)] == ["same"] * 4 + ["only_a"] * 3


@pytest.mark.long
def test_an_inserted_step_shifts_nothing(views: EmbeddedStore, ask: Ask) -> None:
    _ship("a").tell(views)
    story = Story("b")
    story.hear(text("user", "ship O-77?"))
    story.model(calls("search", q="O-77"))
    story.tool("lookup", {}, "extra", heard=False)
    story.tool("search", {"q": "O-77"}, ["in stock"])
    story.model(calls("weather", city="Oslo"))
    story.tool("weather", {"city": "Oslo"}, "snow")
    story.model(calls("hold", id="O-77"))
    story.tool("hold", {"id": "O-77"}, "done")
    story.model(text("assistant", "hold it"))
    story.tell(views)
    assert [row for row in _diff(ask) if row[3] != "same"] == [(2, None, 2, "only_b", "tool")]
    found = _divergence(ask)
    assert (found["step_a"], found["step_b"], found["value_b"]) == (None, 2, "lookup({})")
    assert (found["cause"], found["prefix"]) == ("unknown", "none")


def test_equal_steps_with_another_outcome_are_not_identical(views: EmbeddedStore, ask: Ask) -> None:
    _ship("a").tell(views)
    failed = _ship("b")
    failed.root.status = "error"
    failed.tell(views)
    found = _divergence(ask)
    assert (found["identical"], found["aspect"], found["step_a"]) == (False, "error", None)
    assert (found["value_a"], found["value_b"]) == ("ok", "error")


def test_a_run_that_does_not_exist_gives_no_rows(views: EmbeddedStore, ask: Ask) -> None:
    _ship("a").tell(views)
    assert ask("SELECT 1 AS n FROM run_divergence(a = 'a', b = 'nope')") == []
    assert ask("SELECT 1 AS n FROM run_diff(a = 'nope', b = 'a')") == []


def test_long_values_are_cut(views: EmbeddedStore, ask: Ask) -> None:
    for run_id in "ab":
        story = Story(run_id)
        story.tool("read", {}, run_id * 5000)
        story.tell(views)
    found = _divergence(ask)
    assert len(found["value_a"]) == 500
