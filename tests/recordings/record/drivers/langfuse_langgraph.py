"""LangChain's agent on LangGraph with Langfuse's callback."""

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TURNS, RecordLocked, provider

traces = provider()
Langfuse(
    public_key="pk-none", secret_key="sk-none", host="http://127.0.0.1:9", tracer_provider=traces, timeout=1
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
        options = {
            "configurable": {"thread_id": SESSION},
            "callbacks": [CallbackHandler()],
            "metadata": {"langfuse_session_id": SESSION},
        }
        print(agent.invoke(asked, options)["messages"][-1].content)
finally:
    traces.shutdown()
