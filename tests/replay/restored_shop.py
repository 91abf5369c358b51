"""An agent of LangGraph that is recorded by one process and restored by another, which prints what became of it.

python restored_shop.py record SCENARIO
python restored_shop.py restore SCENARIO RUN STEP [ANSWER | price=N] [THREAD]
"""

from __future__ import annotations

import asyncio
import json
import operator
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, TypedDict, cast, get_type_hints

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from retrospan.exporter import instrument
from retrospan.schemas.errors import RetrospanError

RAN: list[str] = []
THREAD = {"configurable": {"thread_id": "order-7"}}


@dataclass
class Offer:
    price: int


class Order(TypedDict, total=False):
    item: str
    price: int
    offer: Offer
    seen: set[str]
    since: datetime
    blob: bytes
    approved: str
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[str], operator.add]


def join(log: list[str], writes: Any) -> list[str]:
    return [*log, *(each for write in writes for each in write)]


#: The same state, with a channel that checkpoints keep as changes.
Changes = cast(Any, TypedDict)(
    "Changes",
    {
        **get_type_hints(Order, include_extras=True),
        "log": Annotated[list[str], DeltaChannel(join, list[str])],
    },
    total=False,
)


def look_up(state: Any) -> dict[str, Any]:
    RAN.append("look_up")
    said = AIMessage(
        "It is 12.", id="a1", tool_calls=[{"name": "price", "args": {"$item": "cup"}, "id": "c1"}]
    )
    return {"price": 12, "log": ["looked up"], "messages": [said], "seen": {"shop"}}


def reserve(state: Any) -> dict[str, Any]:
    RAN.append("reserve")
    return {"log": ["reserved"], "since": datetime(2026, 11, 25, 12, tzinfo=UTC), "blob": b"\x00\xff"}


def check(state: Any) -> dict[str, Any]:
    RAN.append("check")
    if state.get("item") == "bomb" and len(sys.argv) < 4:
        raise ValueError("not sold")
    return {"log": [f"checked {state['price']}"]}


def ask(state: Any) -> dict[str, Any]:
    RAN.append("ask")
    answer = interrupt({"buy": state["item"], "for": state["price"]})
    return {"approved": answer, "log": [f"a person said {answer}"]}


def buy(state: Any) -> dict[str, Any]:
    RAN.append("buy")
    done = f"bought {state['item']} for {state['price']} ({state.get('approved')}), {sorted(state['seen'])}"
    return {"log": [done, f"{state['since']:%d %b %Y} {state['blob'].hex()} {len(state['messages'])}"]}


def build(scenario: str, saver: Any) -> Any:
    graph: Any = StateGraph(Changes if scenario == "delta" else Order)
    graph.add_node("look_up", offer if scenario == "class" else look_up)
    graph.add_node("reserve", reserve)
    graph.add_node("check", check)
    graph.add_node("buy", buy)
    graph.add_edge(START, "look_up")
    graph.add_edge("look_up", "reserve")
    graph.add_edge("look_up", "check")
    if scenario in ("interrupt", "nested"):
        graph.add_node("ask", ask if scenario == "interrupt" else asking())
        graph.add_edge(["reserve", "check"], "ask")
        graph.add_edge("ask", "buy")
    else:
        graph.add_edge(["reserve", "check"], "buy")
    graph.add_edge("buy", END)
    return graph.compile(checkpointer=saver, name="shop")


def offer(state: Any) -> dict[str, Any]:
    return {**look_up(state), "offer": Offer(12)}


def think(state: Any) -> dict[str, Any]:
    return {"log": [], "price": state["price"] + 1}


def ask_inside(state: Any) -> dict[str, Any]:
    return {"log": [], "approved": interrupt({"for": state["price"]})}


def asking() -> Any:
    """A graph inside the graph, which asks in its second step."""
    inner = StateGraph(Order)
    inner.add_node("think", think)
    inner.add_node("ask", ask_inside)
    inner.add_edge(START, "think")
    inner.add_edge("think", "ask")
    return inner.compile()


def record(scenario: str) -> None:
    shop = build(scenario, InMemorySaver())
    item = "bomb" if scenario == "failed" else "cup"
    said = "A cup" if scenario != "secret" else "my key is AKIA" + "QYLPMN5HHHFPZAM2"
    order = {"item": item, "log": [], "messages": [HumanMessage(said, id="h1")]}
    try:
        if "ASYNC" in os.environ:
            asyncio.run(shop.ainvoke(order, THREAD))
        else:
            shop.invoke(order, THREAD)
    except ValueError as error:
        assert scenario == "failed", error
    if scenario in ("interrupt", "nested"):
        RAN.clear()
        shop.invoke(Command(resume="yes"), THREAD)
    print(json.dumps({"end": plain(shop.get_state(THREAD).values), "ran": RAN}))


def restored(
    scenario: str, run: str, steps: str, change: str = "", thread: str = ""
) -> Iterator[dict[str, Any]]:
    from retrospan.queries.langgraph import restore

    for step in steps.split(","):
        RAN.clear()
        try:
            saver = restore(
                run or None,
                thread=thread or None,
                step=None if step == "last" else int(step),
                types=[Offer] if change == "types" else (),
            )
        except RetrospanError as error:
            yield {"step": step, "error": type(error).__name__, "says": str(error)}
            continue
        shop = build(scenario, saver)
        at: Any = saver.config
        before = shop.get_state(at)
        if change.startswith("price="):
            at = shop.update_state(at, {"price": int(change[6:])})
        waits = bool(before.interrupts)
        shop.invoke(Command(resume=change) if waits else None, at)
        thread_now = {"configurable": {"thread_id": saver.config["configurable"]["thread_id"]}}
        if not waits and shop.get_state(thread_now).interrupts:
            shop.invoke(Command(resume=change), thread_now)
        yield {
            "step": saver.step,
            "next": list(before.next),
            "asked": [each.value for each in before.interrupts],
            "end": plain(shop.get_state(thread_now).values),
            "ran": list(RAN),
        }


def plain(values: dict[str, Any]) -> Any:
    return json.loads(json.dumps(values, default=lambda each: f"{type(each).__name__} {each!r}"))


def stock() -> Any:
    """Set up the hook with OpenTelemetry's own exporter: records of checkpoints then lie on the span."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from retrospan.exporter.hooks import langgraph

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    langgraph.install()
    return provider


if __name__ == "__main__":
    instrumentation: Any = stock() if "STOCK" in os.environ else instrument(service_name="shop")
    if sys.argv[1] == "record":
        record(sys.argv[2])
    else:
        print(json.dumps(list(restored(*sys.argv[2:]))))
    instrumentation.shutdown()
