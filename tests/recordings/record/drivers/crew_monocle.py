"""A crew of one with Monocle, whose spans go to where the environment says."""

from monocle_apptrace.instrumentation.common.instrumentor import setup_monocle_telemetry
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

processor = BatchSpanProcessor(OTLPSpanExporter())
setup_monocle_telemetry(workflow_name="orla", span_processors=[processor])

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from shop import MODEL, MODEL_URL, TOOLS, TURNS

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
    processor.shutdown()
