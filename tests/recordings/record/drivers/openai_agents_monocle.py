"""OpenAI Agents SDK with Monocle, whose spans go to where the environment says.

Under Monocle a tool that raises ends the run, as the SDK does not find its own handler of failures: tools tell of them.
"""

from monocle_apptrace.instrumentation.common.instrumentor import setup_monocle_telemetry
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

processor = BatchSpanProcessor(OTLPSpanExporter())
setup_monocle_telemetry(workflow_name="orla", span_processors=[processor])

from functools import wraps

from agents import Agent, Runner, SQLiteSession, function_tool
from shop import INSTRUCTIONS, MODEL, SCENARIO, SESSION, TOOLS, TRIAGE, TURNS, RecordLocked


def tell_errors(tool):
    @wraps(tool)
    def run(*args, **kwargs):
        try:
            return tool(*args, **kwargs)
        except RecordLocked as error:
            return f"Error: {error}"

    return run


agent = Agent(
    name="orla",
    instructions=INSTRUCTIONS,
    model=MODEL,
    tools=[function_tool(tell_errors(t)) for t in TOOLS],
)
if SCENARIO == "handoff":
    agent = Agent(name="triage", instructions=TRIAGE, model=MODEL, handoffs=[agent])
session = SQLiteSession(SESSION)
try:
    for turn in TURNS:
        print(Runner.run_sync(agent, turn, session=session).final_output)
finally:
    processor.shutdown()
