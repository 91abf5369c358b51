"""A crew of one with OpenLLMetry, for the crew and for the client of the model."""

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from opentelemetry.instrumentation.crewai import CrewAIInstrumentor
from opentelemetry.instrumentation.openai import OpenAIInstrumentor
from shop import MODEL, MODEL_URL, TOOLS, TURNS, provider

traces = provider()
CrewAIInstrumentor().instrument(tracer_provider=traces)
OpenAIInstrumentor().instrument(tracer_provider=traces)
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
    traces.shutdown()
