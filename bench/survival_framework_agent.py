"""The agents of a framework that bench.survival_frameworks kills: `python survival_framework_agent.py NAME`.

For each line on standard input, `ENDPOINT SPOOL|-`, an agent is forked from this process, which has the framework loaded.

The framework's own instrumentation makes the spans; of Retrospan there is `instrument()` and nothing else. The model is
a function in this process, so that what is measured is the death and not the network. Each span that begins or ends is
printed with the time (nanoseconds since 1970): whoever kills the agent knows what must survive.
"""

# mypy: ignore-errors
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false, reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import time

from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor

ROUNDS, PAUSE_SECONDS = 60, 0.03
ASKED = "Watch the config."


class Witness(SpanProcessor):
    """Prints each span as it begins and ends, after the exporter was told of it."""

    def on_start(self, span, parent_context=None):
        note("begun", span)

    def on_end(self, span):
        note("ended", span)


def note(word, span):
    context = span.get_span_context()
    os.write(1, f"{word} {context.trace_id:032x}/{context.span_id:016x} {time.time_ns()}\n".encode())


def look(round_number: int) -> str:
    """Look at the config once more."""
    time.sleep(PAUSE_SECONDS)
    return json.dumps({"round": round_number, "limit": 5})


def run_langgraph():
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from openinference.instrumentation.langchain import LangChainInstrumentor

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **more):
            return self

        def _generate(self, *given, **more):
            time.sleep(PAUSE_SECONDS)
            return super()._generate(*given, **more)

    LangChainInstrumentor().instrument(tracer_provider=trace.get_tracer_provider())
    answers = (
        AIMessage("", tool_calls=[{"name": "look", "args": {"round_number": n}, "id": f"call-{n}"}])
        for n in range(ROUNDS)
    )
    agent = create_agent(Model(messages=answers), [look], name="orla")
    agent.invoke({"messages": [{"role": "user", "content": ASKED}]}, {"recursion_limit": 1000})


def run_openai_agents():
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, generation_span
    from openai.types.responses import ResponseFunctionToolCall
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    class Fake(Model):
        number = 0

        async def get_response(self, system_instructions, input, *given, **more):
            self.number += 1
            with generation_span(input=[{"role": "user", "content": ASKED}], model="fake"):
                await asyncio.sleep(PAUSE_SECONDS)
            call = ResponseFunctionToolCall(
                name="look",
                arguments=json.dumps({"round_number": self.number}),
                call_id=f"call-{self.number}",
                type="function_call",
            )
            return ModelResponse([call], Usage(), None)

        def stream_response(self, *given, **more):
            raise NotImplementedError

    OpenAIAgentsInstrumentor().instrument(tracer_provider=trace.get_tracer_provider())
    agent = Agent(name="orla", model=Fake(), tools=[function_tool(look)])
    Runner.run_sync(agent, ASKED, max_turns=ROUNDS)


def run_pydantic_ai():
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import UsageLimits

    number = 0

    async def answer(messages, info):
        nonlocal number
        number += 1
        await asyncio.sleep(PAUSE_SECONDS)
        return ModelResponse([ToolCallPart("look", {"round_number": number}, f"call-{number}")])

    Agent.instrument_all()
    Agent(FunctionModel(answer), name="orla", tools=[look]).run_sync(
        ASKED, usage_limits=UsageLimits(request_limit=None)
    )


MODULES = {
    "langgraph": ("langchain.agents", "openinference.instrumentation.langchain"),
    "openai-agents": ("agents", "openinference.instrumentation.openai_agents"),
    "pydantic-ai": ("pydantic_ai", "pydantic_ai.models.function"),
}
RUNS = {"langgraph": run_langgraph, "openai-agents": run_openai_agents, "pydantic-ai": run_pydantic_ai}


def live(name, endpoint, spool):
    """Run the framework's agent, which does not end by itself before it is killed."""
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    from retrospan.exporter import instrument

    instrument(service_name="survival", spool=None if spool == "-" else spool, frameworks=[])
    trace.get_tracer_provider().add_span_processor(Witness())
    os.write(1, f"id {os.getpid()} {time.time_ns()}\n".encode())
    try:
        RUNS[name]()
    except Exception as error:  # noqa: BLE001 (the framework's own limit of rounds, or an end of the answers)
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    time.sleep(3600)


def main(name):
    """Fork an agent for each line, and say when it is dead."""
    for module in MODULES[name]:
        importlib.import_module(module)
    os.write(1, b"ready\n")
    for line in sys.stdin:
        endpoint, spool = line.split()
        if not (agent := os.fork()):
            live(name, endpoint, spool)
        os.waitpid(agent, 0)
        os.write(1, b"dead\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
