"""The LangGraph hook on real graphs: states, checkpoints, interrupts, forks, and a graph that behaves as without it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fix_spans import Sent, events, said, span_id, trace_id
from hooks import graphs
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from opentelemetry import context, trace
from opentelemetry.sdk.trace import ReadableSpan

from retrospan.exporter.hooks import langgraph as hook
from retrospan.exporter.recording import effect, run
from retrospan.schemas import attributes as names


@pytest.fixture(autouse=True)
def hooked() -> Iterator[None]:
    hook.install()
    yield
    hook.remove()
    assert trace.get_current_span() is trace.INVALID_SPAN, "a context was left behind"
    assert context.get_current() == {}


def states(sent: Sent) -> list[tuple[str, Any, Any]]:
    """Node, state before and state after, in order."""
    nodes = [span for span in sent.in_order() if not span.name.startswith("invoke_")]
    return [(n.name, said(n, names.STATE_BEFORE), said(n, names.STATE_AFTER)) for n in nodes]


def links(span: ReadableSpan) -> list[dict[str, Any]]:
    return [dict(link.attributes or {}) for link in span.links]


def chain(span: ReadableSpan) -> list[tuple[str | None, str, str]]:
    """Parent, id and trigger of the checkpoints."""
    found = events(span, names.CHECKPOINT)
    return [
        (c.get(names.CHECKPOINT_PARENT), c[names.CHECKPOINT_ID], c[names.CHECKPOINT_TRIGGER]) for c in found
    ]


EXPECTED = [
    ("look_up", {"item": "cup", "log": []}, {"item": "cup", "price": 12, "log": ["looked up"]}),
    (
        "buy",
        {"item": "cup", "price": 12, "log": ["looked up"]},
        {"item": "cup", "price": 12, "log": ["looked up", "bought cup for 12"]},
    ),
]


def test_each_node_has_the_full_state_before_and_after_it(sent: Sent) -> None:
    out = graphs.shop().invoke({"item": "cup"}, {"configurable": {"thread_id": "t"}})
    assert out == EXPECTED[-1][2]
    assert states(sent) == EXPECTED
    root = sent.named("invoke_workflow shop")
    assert said(root, "gen_ai.conversation.id") == "t"
    assert said(root, names.RUN_ID) == f"{trace_id(root):032x}"
    node = sent.named("look_up")
    assert node.parent is not None and node.parent.span_id == span_id(root)
    assert said(node, "metadata")["langgraph_step"] == 1


def test_an_async_graph_and_a_streamed_one_say_the_same(sent: Sent) -> None:
    config = {"configurable": {"thread_id": "t"}}
    asyncio.run(graphs.shop().ainvoke({"item": "cup"}, config))
    assert states(sent) == EXPECTED
    sent.spans.clear()
    for _ in graphs.shop().stream({"item": "cup"}, config):
        assert trace.get_current_span() is trace.INVALID_SPAN, "the reader is not inside the graph"
    assert states(sent) == EXPECTED


def test_the_checkpoints_are_the_saver_s_own_chain(sent: Sent) -> None:
    shop, config = graphs.shop(), {"configurable": {"thread_id": "t"}}
    shop.invoke({"item": "cup"}, config)
    history = [
        (
            s.parent_config and s.parent_config["configurable"]["checkpoint_id"],
            s.config["configurable"]["checkpoint_id"],
            s.metadata["source"],
        )
        for s in reversed(list(shop.get_state_history(config)))
    ]
    assert chain(sent.named("invoke_workflow shop")) == history
    assert [trigger for _, _, trigger in history] == ["input", "loop", "loop", "loop"]


def test_an_interrupt_waits_and_the_resume_is_a_run_of_its_own(sent: Sent) -> None:
    shop, config = graphs.shop(asks=True), {"configurable": {"thread_id": "t"}}
    shop.invoke({"item": "cup"}, config)
    first = sent.named("invoke_workflow shop")
    assert [name for name, _, _ in states(sent)] == ["look_up", "ask"]
    (asked,) = events(sent.named("ask"), "exception")
    assert asked["exception.type"] == "langgraph.errors.GraphInterrupt"
    assert json.loads(str(asked["exception.message"])) == [{"buy": "cup", "for": 12}]
    assert said(sent.named("ask"), names.STATE_AFTER) is None
    assert sent.named("ask").status.is_ok or sent.named("ask").status.is_unset
    last = chain(first)[-1][1]
    sent.spans.clear()
    shop.invoke(Command(resume="yes"), config)
    second = sent.named("invoke_workflow shop")
    assert [name for name, _, _ in states(sent)] == ["ask", "buy"]
    assert states(sent)[0][2]["approved"] == "yes"
    assert links(second) == [{names.LINK_TYPE: "resumes", names.RUN_ID: said(first, names.RUN_ID)}]
    assert second.links[0].context.trace_id == trace_id(first)
    assert said(second, names.RUN_ORIGIN) == said(first, names.RUN_ID)
    (approval,) = events(second, names.APPROVAL)
    assert approval[names.APPROVAL_DECISION] == "yes"
    assert json.loads(approval[names.APPROVAL_EXPLANATION]) == {"asked": {"buy": "cup", "for": 12}}
    assert chain(second)[0][0] == last, "the chain goes on where the first run left it"


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_fork_names_the_step_and_what_was_changed(sent: Sent, edited: bool, is_async: bool) -> None:
    shop, config = graphs.shop(), {"configurable": {"thread_id": "t"}}
    shop.invoke({"item": "cup"}, config)
    first = sent.named("invoke_workflow shop")
    before_buy = next(s for s in shop.get_state_history(config) if s.next == ("buy",))
    at = before_buy.config
    if edited:
        at = shop.update_state(at, {"price": 99, "log": ["edited"]})
    sent.spans.clear()
    if is_async:
        asyncio.run(shop.ainvoke(None, at))
    else:
        shop.invoke(None, at)
    fork = sent.named("invoke_workflow shop")
    assert links(fork) == [{names.LINK_TYPE: "forks", names.RUN_ID: said(first, names.RUN_ID)}]
    assert said(fork, names.FORK_STEP) == 1
    assert said(fork, names.RUN_ORIGIN) == said(fork, names.RUN_ID) != said(first, names.RUN_ID)
    ((name, before, after),) = states(sent)
    assert name == "buy"
    if edited:
        assert said(fork, names.FORK_PATCH) == [
            {"op": "replace", "path": "/log", "value": ["looked up", "edited"]},
            {"op": "replace", "path": "/price", "value": 99},
        ]
        assert (before["price"], after["log"][-1]) == (99, "bought cup for 99")
        assert "update" in [trigger for _, _, trigger in chain(fork)]
    else:
        assert said(fork, names.FORK_PATCH) is None
    known = {id for _, id, _ in [*chain(first), *chain(fork)]}
    assert all(parent in known for parent, _, _ in chain(fork)), (
        "the fork hangs on the first run's checkpoints"
    )
    stored = {s.config["configurable"]["checkpoint_id"] for s in shop.get_state_history(config)}
    assert known == stored


def test_a_new_input_on_the_thread_is_a_turn_of_its_own(sent: Sent) -> None:
    shop, config = graphs.shop(), {"configurable": {"thread_id": "t"}}
    shop.invoke({"item": "cup"}, config)
    sent.spans.clear()
    shop.invoke({"item": "pot"}, config)
    assert links(sent.named("invoke_workflow shop")) == []


def test_nodes_of_one_superstep_end_with_its_whole_state(sent: Sent) -> None:
    graphs.fan().invoke({"log": []})
    found = {name: (before, after) for name, before, after in states(sent)}
    both = {"item": "R", "price": 1, "log": ["left", "right"]}
    assert found["left"] == found["right"] == ({"log": []}, both)
    assert found["end"] == (both, {**both, "log": ["left", "right", "end"]})


def test_each_try_of_a_node_is_a_span(sent: Sent) -> None:
    graphs.flaky(2).invoke({"log": []})
    tries = [span for span in sent.in_order() if span.name == "work"]
    assert [said(span, names.ATTEMPT) for span in tries] == [None, 2, 3]
    assert [span.status.is_ok or span.status.is_unset for span in tries] == [False, False, True]
    assert said(tries[0], names.STATE_AFTER) is None
    assert said(tries[2], names.STATE_AFTER) == {"log": ["worked"]}


def test_a_node_that_fails_fails_the_graph_as_without_the_hook(sent: Sent) -> None:
    with pytest.raises(ValueError, match="not yet"):
        graphs.flaky(5).invoke({"log": []})
    root = sent.named("invoke_workflow LangGraph")
    assert not root.status.is_ok and not root.status.is_unset
    assert len(sent.spans) == 4


def test_a_graph_inside_a_node_is_part_of_the_run(sent: Sent) -> None:
    graphs.nested().invoke({"item": "cup"})
    inner, outer = sent.named("invoke_workflow small"), sent.named("invoke_workflow outer")
    assert inner.parent is not None and inner.parent.span_id == span_id(sent.named("inner"))
    assert said(inner, names.RUN_ID) == said(outer, names.RUN_ID) == f"{trace_id(outer):032x}"


def test_a_run_of_the_program_keeps_its_id(sent: Sent) -> None:
    with run("buyer", id="mine"):
        graphs.shop_without_memory().invoke({"item": "cup"})
    assert said(sent.named("invoke_agent buyer"), names.RUN_ID) == "mine"
    assert said(sent.named("invoke_workflow small"), names.RUN_ID) == "mine"


def test_a_key_made_in_a_node_outlives_the_interrupt(sent: Sent) -> None:
    keys: list[str] = []
    graph = StateGraph(graphs.Order)

    def ask(state: graphs.Order) -> dict[str, Any]:
        with effect("reserve", {"item": "cup"}) as reserved:
            keys.append(reserved.key)
        return {"approved": interrupt("sure?")}

    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    shop: Any = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    shop.invoke({"item": "cup"}, config)
    shop.invoke(Command(resume="yes"), config)
    assert len(keys) == 2 and keys[0] == keys[1]
    assert keys[0].split(":")[1:3] == ["ask", "reserve"]


def test_where_others_make_spans_of_nodes_only_what_they_lack_is_added(
    sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGSMITH_OTEL_ENABLED", "true")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    graphs.shop().invoke({"item": "cup"}, {"configurable": {"thread_id": "t"}})
    (root,) = sent.spans
    assert [trigger for _, _, trigger in chain(root)] == ["input", "loop", "loop", "loop"]


def test_the_hook_may_come_and_go() -> None:
    assert hook.installed()
    hook.install()
    hook.remove()
    assert not hook.installed()
    from langgraph.pregel import _loop

    assert not hasattr(_loop.PregelLoop.after_tick, "__wrapped__")
    assert graphs.shop_without_memory().invoke({"item": "cup"})["price"] == 12


def test_without_a_provider_nothing_is_recorded_and_graphs_run(no_provider: None) -> None:
    shop, config = graphs.shop(asks=True), {"configurable": {"thread_id": "t"}}
    shop.invoke({"item": "cup"}, config)
    assert shop.invoke(Command(resume="yes"), config)["approved"] == "yes"
    assert all("retrospan_run" not in s.metadata for s in shop.get_state_history(config))
