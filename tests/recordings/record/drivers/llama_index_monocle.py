"""LlamaIndex's agent of function calls with Monocle, whose spans go to where the environment says."""

from monocle_apptrace.instrumentation.common.instrumentor import setup_monocle_telemetry
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

processor = BatchSpanProcessor(OTLPSpanExporter())
setup_monocle_telemetry(workflow_name="orla", span_processors=[processor])

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS


async def main():
    llm = OpenAI(model=MODEL, api_base=f"{MODEL_URL}/v1", max_retries=0)
    agent = FunctionAgent(name="orla", tools=TOOLS, llm=llm, system_prompt=INSTRUCTIONS, streaming=False)
    context = Context(agent)
    for turn in TURNS:
        print(await agent.run(turn, ctx=context))


try:
    asyncio.run(main())
finally:
    processor.shutdown()
