"""Graphs of LangGraph for the tests: no model behind them, so what they do is known."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy, interrupt


class Order(TypedDict, total=False):
    item: str
    price: int
    log: Annotated[list[str], operator.add]
    approved: str


def look_up(state: Order) -> dict[str, Any]:
    return {"price": 12, "log": ["looked up"]}


def ask(state: Order) -> dict[str, Any]:
    answer = interrupt({"buy": state.get("item"), "for": state.get("price")})
    return {"approved": answer, "log": ["asked"]}


def buy(state: Order) -> dict[str, Any]:
    return {"log": [f"bought {state.get('item')} for {state.get('price')}"]}


def shop(asks: bool = False) -> Any:
    """look_up, (ask,) buy; with a checkpointer."""
    graph = StateGraph(Order)
    graph.add_node("look_up", look_up)
    graph.add_node("buy", buy)
    graph.add_edge(START, "look_up")
    if asks:
        graph.add_node("ask", ask)
        graph.add_edge("look_up", "ask")
        graph.add_edge("ask", "buy")
    else:
        graph.add_edge("look_up", "buy")
    graph.add_edge("buy", END)
    return graph.compile(checkpointer=InMemorySaver(), name="shop")


def fan() -> Any:
    """Two nodes in one superstep, then one."""
    graph = StateGraph(Order)
    graph.add_node("left", lambda state: {"log": ["left"], "price": 1})
    graph.add_node("right", lambda state: {"log": ["right"], "item": "R"})
    graph.add_node("end", lambda state: {"log": ["end"]})
    graph.add_edge(START, "left")
    graph.add_edge(START, "right")
    graph.add_edge(["left", "right"], "end")
    return graph.compile()


def flaky(failures: int) -> Any:
    """A node that fails so many times, under a retry policy of three tries."""
    left = [failures]

    def work(state: Order) -> dict[str, Any]:
        if left[0]:
            left[0] -= 1
            raise ValueError("not yet")
        return {"log": ["worked"]}

    graph = StateGraph(Order)
    graph.add_node(
        "work", work, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False, retry_on=ValueError)
    )
    graph.add_edge(START, "work")
    return graph.compile()


def nested() -> Any:
    """A graph as a node of another."""
    outer = StateGraph(Order)
    outer.add_node("inner", shop_without_memory())
    outer.add_edge(START, "inner")
    return outer.compile(name="outer")


def shop_without_memory() -> Any:
    graph = StateGraph(Order)
    graph.add_node("look_up", look_up)
    graph.add_edge(START, "look_up")
    return graph.compile(name="small")
