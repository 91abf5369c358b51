"""Azure's client for model inference with its own tracing, in a loop whose tools are spans as in Azure's samples."""

import json

from azure.core.settings import settings

settings.tracing_implementation = "opentelemetry"

from azure.ai.inference import ChatCompletionsClient
from azure.ai.inference.models import (
    AssistantMessage,
    ChatCompletionsToolDefinition,
    FunctionDefinition,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from azure.ai.inference.tracing import AIInferenceInstrumentor
from azure.core.credentials import AzureKeyCredential
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, provider, run_tool

traces = provider()
tracer = traces.get_tracer("orla-support")
AIInferenceInstrumentor().instrument(enable_content_recording=True)
client = ChatCompletionsClient(endpoint=f"{MODEL_URL}/v1", credential=AzureKeyCredential("none"), model=MODEL)
tools = [ChatCompletionsToolDefinition(function=FunctionDefinition(tool["function"])) for tool in CHAT_TOOLS]
messages = [SystemMessage(INSTRUCTIONS)]


def run(function):
    arguments = json.loads(function.arguments)
    with tracer.start_as_current_span(function.name) as span:
        for name, value in arguments.items():
            span.set_attribute(f"requested_{name}", value)
        return run_tool(function.name, arguments)


def answer(question):
    messages.append(UserMessage(question))
    while True:
        said = client.complete(messages=messages, tools=tools).choices[0].message
        messages.append(AssistantMessage(content=said.content, tool_calls=said.tool_calls))
        if not said.tool_calls:
            return said.content
        for call in said.tool_calls:
            messages.append(ToolMessage(run(call.function), tool_call_id=call.id))


try:
    for turn in TURNS:
        with tracer.start_as_current_span("answer"):
            print(answer(turn))
finally:
    traces.shutdown()
