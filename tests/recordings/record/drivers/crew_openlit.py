"""A crew of one with OpenLIT."""

import openlit
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from opentelemetry import trace
from shop import MODEL, MODEL_URL, TOOLS, TURNS

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
llm = LLM(model=f"openai/{MODEL}", base_url=f"{MODEL_URL}/v1", api_key="none", max_retries=0)
orla = Agent(
    role="orla",
    goal="Answer the customer in one or two sentences.",
    backstory="The support agent of Fjordkraft Outdoors. Uses the tools; never guesses.",
    llm=llm,
    tools=[tool(t.__name__)(t) for t in TOOLS],
    max_retry_limit=0,
    cache=False,
)
try:
    for turn in TURNS:
        task = Task(description=turn, expected_output="An answer for the customer.", agent=orla)
        print(Crew(agents=[orla], tasks=[task], cache=False).kickoff())
finally:
    trace.get_tracer_provider().shutdown()
