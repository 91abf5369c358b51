"""Pipecat's pipeline without a voice: a text for each turn, with the spans of its own."""

import asyncio

from pipecat.adapters.schemas.function_schema import FunctionSchema
from pipecat.adapters.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import LLMMessagesAppendFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.runner import PipelineRunner
from pipecat.pipeline.task import PipelineParams, PipelineTask
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.services.openai.llm import OpenAILLMService
from shop import INSTRUCTIONS, MODEL, MODEL_URL, SCHEMAS, SESSION, TOOLS, TURNS, provider, run_tool

traces = provider()
tools = ToolsSchema(
    standard_tools=[
        FunctionSchema(
            name=tool.__name__,
            description=tool.__doc__.splitlines()[0],
            properties={name: {"type": kind} for name, kind in SCHEMAS[tool.__name__].items()},
            required=list(SCHEMAS[tool.__name__]),
        )
        for tool in TOOLS
    ]
)


def handler(tool):
    async def run(params):
        # As text: with an empty list Pipecat does not ask the model again.
        await params.result_callback(run_tool(tool.__name__, params.arguments))

    return run


async def talk():
    llm = OpenAILLMService(
        api_key="none",
        base_url=f"{MODEL_URL}/v1",
        settings=OpenAILLMService.Settings(model=MODEL, system_instruction=INSTRUCTIONS),
    )
    for tool in TOOLS:
        llm.register_function(tool.__name__, handler(tool))
    context = LLMContext([], tools)
    pair = LLMContextAggregatorPair(context)
    said = asyncio.Queue()

    @pair.assistant().event_handler("on_assistant_turn_stopped")
    async def stopped(aggregator, message):
        if message.content:
            await said.put(message.content)

    @llm.event_handler("on_error")
    async def failed(service, error):
        await said.put(f"Error: {error.error}")

    task = PipelineTask(
        Pipeline([pair.user(), llm, pair.assistant()]),
        params=PipelineParams(enable_metrics=True, enable_usage_metrics=True),
        enable_tracing=True,
        conversation_id=SESSION,
    )

    async def ask():
        for turn in TURNS:
            await task.queue_frame(LLMMessagesAppendFrame([{"role": "user", "content": turn}], run_llm=True))
            while True:
                text = await said.get()
                print(text)
                last = context.get_messages()[-1]
                if text.startswith("Error") or (
                    last.get("role") == "assistant" and last.get("content") == text
                ):
                    break
        await task.stop_when_done()

    await asyncio.gather(PipelineRunner(handle_sigint=False).run(task), ask())


try:
    asyncio.run(talk())
finally:
    traces.shutdown()
