"""Mirascope's calls and tools in a loop, with the spans of Mirascope's own tracing."""

from mirascope import llm, ops
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, provider

traces = provider()
ops.configure(tracer_provider=traces)
ops.instrument_llm()
history = []


@llm.call(f"openai/{MODEL}", tools=[llm.tool(ops.trace(tool)) for tool in TOOLS])
def orla(question: str):
    return [llm.messages.system(INSTRUCTIONS), *history, llm.messages.user(question)]


@ops.trace
def answer(question: str) -> str:
    response = orla(question)
    while response.tool_calls:
        response = response.resume(response.execute_tools())
    history[:] = [message for message in response.messages if message.role != "system"]
    return response.text()


try:
    with ops.session(id=SESSION):
        for turn in TURNS:
            print(answer(turn))
finally:
    traces.shutdown()
