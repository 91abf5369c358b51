"""LangChain's agent on LangGraph with Azure's tracer."""

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_azure_ai.callbacks.tracers import enable_auto_tracing
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, RecordLocked, provider

traces = provider()
enable_auto_tracing(
    enable_content_recording=True, auto_configure_azure_monitor=False, message_keys=["messages"]
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
    traces.shutdown()
