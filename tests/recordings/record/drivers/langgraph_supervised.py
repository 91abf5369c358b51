"""An agent of LangChain below a supervisor, on LangGraph, with OpenInference."""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_supervisor import create_supervisor
from openinference.instrumentation.langchain import LangChainInstrumentor
from shop import INSTRUCTIONS, MODEL, SESSION, TOOLS, TRIAGE, TURNS, provider

traces = provider()
LangChainInstrumentor().instrument(tracer_provider=traces)
model = ChatOpenAI(model=MODEL, max_retries=0)
orla = create_agent(model, TOOLS, system_prompt=INSTRUCTIONS, name="orla")
flow = create_supervisor(
    [orla], model=model, prompt=TRIAGE, supervisor_name="triage", output_mode="full_history"
)
graph = flow.compile(checkpointer=InMemorySaver())
try:
    for turn in TURNS:
        asked = {"messages": [{"role": "user", "content": turn}]}
        done = graph.invoke(asked, {"configurable": {"thread_id": SESSION}})
        print(done["messages"][-1].content)
finally:
    traces.shutdown()
