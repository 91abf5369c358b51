"""A LangGraph agent that asks a person, is resumed, and is run again from an earlier point with a different state.

    python examples/langgraph_agent.py
    retrospan runs; retrospan sql "SELECT checkpoint_id, parent_id, trigger FROM checkpoints"

Nothing here speaks of Retrospan but the call of `instrument`: the hook for LangGraph comes with it.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from retrospan.exporter import instrument


class Order(TypedDict):
    item: str
    price: int
    approved: str
    log: Annotated[list[str], operator.add]


def look_up(state: Order) -> dict[str, Any]:
    return {"price": 12, "log": ["looked up the price"]}


def ask(state: Order) -> dict[str, Any]:
    answer = interrupt({"question": f"Buy a {state['item']} for {state['price']}?"})
    return {"approved": answer, "log": [f"a person said {answer}"]}


def buy(state: Order) -> dict[str, Any]:
    return {"log": [f"bought a {state['item']} for {state['price']}"]}


def build() -> Any:
    graph = StateGraph(Order)
    for name, node in (("look_up", look_up), ("ask", ask), ("buy", buy)):
        graph.add_node(name, node)
    graph.add_edge(START, "look_up")
    graph.add_edge("look_up", "ask")
    graph.add_edge("ask", "buy")
    graph.add_edge("buy", END)
    return graph.compile(checkpointer=InMemorySaver(), name="shop")


def main() -> None:
    instrumentation = instrument(service_name="examples")
    shop = build()
    thread = {"configurable": {"thread_id": "order-7"}}
    shop.invoke({"item": "cup", "log": []}, thread)  # stops at the question
    shop.invoke(Command(resume="yes"), thread)
    # From before the purchase, with another price: a fork.
    earlier = next(state for state in shop.get_state_history(thread) if state.next == ("buy",))
    changed = shop.update_state(earlier.config, {"price": 9})
    print(shop.invoke(None, changed)["log"])
    instrumentation.shutdown()


if __name__ == "__main__":
    main()
