"""LlamaIndex's agent of function calls with its own integration of OpenTelemetry."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI
from llama_index.observability.otel import LlamaIndexOpenTelemetry
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS

LlamaIndexOpenTelemetry(
    span_exporter=OTLPSpanExporter(), service_name_or_resource="orla-support"
).start_registering()


async def main():
    llm = OpenAI(model=MODEL, api_base=f"{MODEL_URL}/v1", max_retries=0)
    agent = FunctionAgent(name="orla", tools=TOOLS, llm=llm, system_prompt=INSTRUCTIONS, streaming=False)
    context = Context(agent)
    for turn in TURNS:
        print(await agent.run(turn, ctx=context))


try:
    asyncio.run(main())
finally:
    trace.get_tracer_provider().shutdown()
