"""A LangGraph agent in TruLens's wrapper, exported over OTLP."""

import os

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, RecordLocked
from trulens.apps.langgraph import TruGraph
from trulens.core import TruSession

session = TruSession(otel_exporter="otlp", otlp_protocol=os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"])


@wrap_tool_call
def failures_as_text(request, handler):
    try:
        return handler(request)
    except RecordLocked as error:
        return ToolMessage(f"Error: {error}", tool_call_id=request.tool_call["id"], status="error")


agent = create_agent(
    ChatOpenAI(model=MODEL, max_retries=0),
    TOOLS,
    system_prompt=INSTRUCTIONS,
    middleware=[failures_as_text],
    name="orla",
)
recorder = TruGraph(agent, app_name="orla", app_version="1.4.2")
messages = []
try:
    for turn in TURNS:
        messages.append({"role": "user", "content": turn})
        with recorder(conversation_id=SESSION):
            done = agent.invoke({"messages": messages})
        messages = done["messages"]
        print(messages[-1].content)
finally:
    session.force_flush()
