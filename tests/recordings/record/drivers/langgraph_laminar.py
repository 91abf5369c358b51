"""LangChain's agent on LangGraph with Laminar, whose SDK sends to a Laminar of one's own."""

import os
from urllib.parse import urlsplit

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from lmnr import Laminar
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, RecordLocked

at = urlsplit(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])
Laminar.initialize(
    project_api_key="none", base_url=f"http://{at.hostname}", http_port=at.port, grpc_port=at.port
)


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
try:
    for turn in TURNS:
        asked = {"messages": [{"role": "user", "content": turn}]}
        done = agent.invoke(asked, {"configurable": {"thread_id": SESSION}})
        print(done["messages"][-1].content)
finally:
    Laminar.flush()
    Laminar.shutdown()
