"""LangChain's agent on LangGraph with LangWatch's callback, over a tracer provider of one's own."""

import os
import time

import langwatch
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, RecordLocked, provider

traces = provider()
langwatch.setup(api_key="none", endpoint_url="http://127.0.0.1:9", tracer_provider=traces)


@wrap_tool_call
def tell_errors(request, handler):
    try:
        return handler(request)
    except RecordLocked as error:
        return ToolMessage(f"Error: {error}", tool_call_id=request.tool_call["id"], status="error")


agent = create_agent(
    ChatOpenAI(model=MODEL, max_retries=0),
    TOOLS,
    system_prompt=INSTRUCTIONS,
    middleware=[tell_errors],
    checkpointer=InMemorySaver(),
    name="orla",
)


@langwatch.trace(name="orla")
def answer(turn):
    langwatch.get_current_trace().update(metadata={"thread_id": SESSION})
    callback = langwatch.get_current_trace().get_langchain_callback()
    asked = {"messages": [{"role": "user", "content": turn}]}
    done = agent.invoke(asked, {"configurable": {"thread_id": SESSION}, "callbacks": [callback]})
    return done["messages"][-1].content


try:
    for turn in TURNS:
        print(answer(turn))
finally:
    time.sleep(2)
    os._exit(0)  # LangWatch's own exporter would try long to reach its service
