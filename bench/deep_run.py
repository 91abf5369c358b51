"""Agent runs of any depth as OTLP spans: each span lies inside the one before it, and the last is the innermost.

No agent works so; a loop in an instrumentation, or somebody who means harm, sends it in a few megabytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import cycle, islice

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from bench.agents import BASE_NS, Value, set_attribute

#: What may be nested. Each gives the attributes of the span at a depth, counted from 0.
Shape = Callable[[int], dict[str, Value]]

_OPERATION = "gen_ai.operation.name"


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def model_call(depth: int) -> dict[str, Value]:
    return {_OPERATION: "chat", "gen_ai.output.messages": _message("assistant", "Done.")}


def agent(depth: int) -> dict[str, Value]:
    return {_OPERATION: "invoke_agent"}


def agent_with_name(depth: int) -> dict[str, Value]:
    return {_OPERATION: "invoke_agent", "gen_ai.agent.name": f"agent {depth}"}


def agent_with_transcript(depth: int) -> dict[str, Value]:
    said = [{"role": "system", "content": "Help."}, {"role": "user", "content": "Hi"}]
    said.append({"role": "assistant", "content": f"Hello {depth}"})
    return {_OPERATION: "invoke_agent", "output.value": json.dumps({"messages": said})}


def tool(depth: int) -> dict[str, Value]:
    return {_OPERATION: "execute_tool", "gen_ai.tool.name": "search"}


def other_tool(depth: int) -> dict[str, Value]:
    return {_OPERATION: "execute_tool", "gen_ai.tool.name": f"search_{depth}"}


def plain(depth: int) -> dict[str, Value]:
    return {"http.request.method": "GET"}


def task_step(depth: int) -> dict[str, Value]:
    return {"retrospan.step.index": depth, "retrospan.step.name": "dig"}


def state(depth: int) -> dict[str, Value]:
    return {"retrospan.state.before": json.dumps({"depth": depth})}


def effect(depth: int) -> dict[str, Value]:
    return {"retrospan.effect": "write", "retrospan.idempotency.key": "once"}


def node(depth: int) -> dict[str, Value]:
    given = json.dumps({"depth": depth})
    return {
        "openinference.span.kind": "CHAIN",
        "metadata": json.dumps({"langgraph_node": f"node {depth}", "langgraph_step": depth}),
        "input.value": given,
        "output.value": given,
    }


def output(depth: int) -> dict[str, Value]:
    return {"retrospan.output.id": f"output {depth}"}


SHAPES: dict[str, tuple[Shape, ...]] = {
    "model-calls": (model_call,),
    "agents": (agent,),
    "named-agents": (agent_with_name,),
    "transcripts": (agent_with_transcript,),
    "tools": (tool,),
    "other-tools": (other_tool,),
    "tools-under-plain": (tool, plain),
    "mixed": (agent, model_call, tool),
    "plain": (plain,),
    "steps": (task_step,),
    "states": (state,),
    "effects": (effect,),
    "nodes": (node,),
    "outputs": (output,),
}


class DeepRun:
    """One run whose spans are nested as deep as there are spans; the same spans each time, the outermost first.

    `shapes` take turns on the way down. With `leaves` every span has one model call of its own inside it as well, with
    `failed` every span failed, with `events` every span tells of an observation, with `around` the outermost hangs
    under the innermost, with `apart` each level has its own time within the one around it, else all are the same.
    """

    def __init__(
        self,
        spans: int,
        *shapes: Shape,
        seed: int = 1,
        leaves: bool = False,
        failed: bool = False,
        events: bool = False,
        around: bool = False,
        apart: bool = True,
    ) -> None:
        self.trace_id = (seed << 64 | spans).to_bytes(16, "big")
        self._spans, self._shapes = spans, shapes or (model_call,)
        self._leaves, self._failed, self._events = leaves, failed, events
        self._around, self._apart = around, apart

    @property
    def run_id(self) -> str:
        return self.trace_id.hex()

    def spans(self) -> Iterator[Span]:
        """Yield the spans; a second call yields them again."""
        depths = self._spans // 2 if self._leaves else self._spans
        parent = _id(depths) if self._around else b""
        for depth, shape in enumerate(islice(cycle(self._shapes), depths)):
            span = self._span(_id(depth + 1), parent, depth, depths, shape(depth))
            yield span
            if self._leaves:
                yield self._span(_id(1 << 40 | depth), span.span_id, depth, depths, model_call(depth))
            parent = span.span_id

    def _span(
        self, span_id: bytes, parent: bytes, depth: int, depths: int, attributes: dict[str, Value]
    ) -> Span:
        within = depth if self._apart else 0
        span = Span(
            trace_id=self.trace_id,
            span_id=span_id,
            parent_span_id=parent,
            name="deep",
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=BASE_NS + within * 1_000,
            end_time_unix_nano=BASE_NS + (4 * depths - within) * 1_000,
        )
        for key, value in attributes.items():
            set_attribute(span, key, value)
        if self._failed:
            span.status.code = Status.STATUS_CODE_ERROR
            span.status.message = f"failed at {depth}"
        if self._events:
            event = span.events.add(name="retrospan.observation", time_unix_nano=span.end_time_unix_nano)
            for key in ("entity.type", "entity.id", "changes"):
                said = json.dumps({"depth": depth}) if key == "changes" else "order"
                event.attributes.add(key=f"retrospan.{key}").value.string_value = said
        return span


def _id(number: int) -> bytes:
    return number.to_bytes(8, "big")
