"""Anthropic's client with OpenLLMetry, in a loop whose agent and tools are spans of the GenAI conventions."""

from anthropic import Anthropic
from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor
from opentelemetry.trace import Status, StatusCode
from shop import CHAT_TOOLS, INSTRUCTIONS, MODEL, MODEL_URL, TURNS, provider, run_tool

traces = provider()
AnthropicInstrumentor().instrument(tracer_provider=traces)
tracer = traces.get_tracer("shop.agent")
client = Anthropic(api_key="none", base_url=MODEL_URL, max_retries=0)
tools = [
    {
        "name": tool["function"]["name"],
        "description": tool["function"]["description"],
        "input_schema": tool["function"]["parameters"],
    }
    for tool in CHAT_TOOLS
]
messages = []


def run(call):
    with tracer.start_as_current_span(f"execute_tool {call.name}") as span:
        span.set_attribute("gen_ai.operation.name", "execute_tool")
        span.set_attribute("gen_ai.tool.name", call.name)
        span.set_attribute("gen_ai.tool.call.id", call.id)
        result = run_tool(call.name, call.input)
        failed = result.startswith("Error")
        if failed:
            span.set_status(Status(StatusCode.ERROR, result))
        return {"type": "tool_result", "tool_use_id": call.id, "content": result, "is_error": failed}


def answer(question):
    messages.append({"role": "user", "content": question})
    while True:
        reply = client.messages.create(
            model=MODEL, max_tokens=1024, system=INSTRUCTIONS, messages=messages, tools=tools
        )
        messages.append({"role": "assistant", "content": [part.model_dump() for part in reply.content]})
        calls = [part for part in reply.content if part.type == "tool_use"]
        if not calls:
            return reply.content[-1].text
        messages.append({"role": "user", "content": [run(call) for call in calls]})


try:
    for turn in TURNS:
        with tracer.start_as_current_span("invoke_agent orla") as span:
            span.set_attribute("gen_ai.operation.name", "invoke_agent")
            span.set_attribute("gen_ai.agent.name", "orla")
            print(answer(turn))
finally:
    traces.shutdown()
