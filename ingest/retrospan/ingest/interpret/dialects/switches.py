"""What turns on a layer that a run lacks: the dialect's own switch, else what any producer can do."""

from __future__ import annotations

from collections.abc import Sequence

from retrospan.ingest.interpret.dialects import DIALECTS
from retrospan.ingest.interpret.dialects.dialect import Layer

_OF_ANYBODY: dict[Layer, str] = {
    "messages": "set gen_ai.input.messages and gen_ai.output.messages on the span of the request",
    "results": "set gen_ai.tool.call.result on the span of the tool",
    "tools": "a span around each tool with gen_ai.operation.name=execute_tool, gen_ai.tool.name and gen_ai.tool.call.id",
    "tokens": "set gen_ai.usage.input_tokens and gen_ai.usage.output_tokens; a stream of OpenAI's has them only with "
    'stream_options={"include_usage": True}',
    "conversation": "set gen_ai.conversation.id on the span around the loop",
    "state": "set retrospan.state.before and retrospan.state.after (JSON) on the span of a step",
    "steps": "a span around each step of the task with retrospan.step.index and retrospan.step.name",
    "spans": "call provider.shutdown() as the program ends: it sends what waits",
}


def switch_for(layer: Layer, scopes: Sequence[tuple[str, str]]) -> str:
    """Return how to get a layer. `scopes` are (dialect, scope) of the run's spans, the most telling first."""
    own = {dialect.name: dialect.switches for dialect in DIALECTS}
    for name, scope in scopes:
        fitting = [
            switch for switch in own.get(name, ()) if switch.layer == layer and scope.startswith(switch.scope)
        ]
        if fitting:
            return max(fitting, key=lambda switch: len(switch.scope)).how
    return _OF_ANYBODY[layer]
