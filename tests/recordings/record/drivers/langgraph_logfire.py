"""LangChain's agent on LangGraph with Logfire, which takes LangSmith's spans."""

import logfire
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.tracers.langchain import wait_for_all_tracers
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, RecordLocked

logfire.configure(
    send_to_logfire=False, console=False, additional_span_processors=[BatchSpanProcessor(OTLPSpanExporter())]
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
    wait_for_all_tracers()
    logfire.shutdown()
