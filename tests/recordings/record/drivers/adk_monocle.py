"""Google's Agent Development Kit with Monocle, whose spans go to where the environment says."""

from monocle_apptrace.instrumentation.common.instrumentor import setup_monocle_telemetry
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

processor = BatchSpanProcessor(OTLPSpanExporter())
setup_monocle_telemetry(workflow_name="orla", span_processors=[processor])

import asyncio

from google.adk.agents import LlmAgent
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types
from shop import (
    INSTRUCTIONS,
    MODEL,
    MODEL_URL,
    SCENARIO,
    SESSION,
    TOOLS,
    TRIAGE,
    TURNS,
    RecordLocked,
)


class LocalGemini(Gemini):
    """The same model at another address."""

    @property
    def api_client(self):
        from google.genai import Client

        return Client(api_key="none", http_options=types.HttpOptions(base_url=MODEL_URL))


def tell_errors(tool, args, tool_context, error):
    return {"error": str(error)} if isinstance(error, RecordLocked) else None


agent = LlmAgent(
    name="orla",
    model=LocalGemini(model=MODEL),
    instruction=INSTRUCTIONS,
    description="Knows the weather.",
    tools=list(TOOLS),
    on_tool_error_callback=tell_errors,
)
if SCENARIO == "handoff":
    agent = LlmAgent(name="triage", model=LocalGemini(model=MODEL), instruction=TRIAGE, sub_agents=[agent])


async def main():
    runner = InMemoryRunner(agent, app_name="orla_app")
    await runner.session_service.create_session(app_name="orla_app", user_id="u-1", session_id=SESSION)
    for turn in TURNS:
        message = types.Content(role="user", parts=[types.Part(text=turn)])
        async for event in runner.run_async(user_id="u-1", session_id=SESSION, new_message=message):
            if event.is_final_response() and event.content:
                print(event.content.parts[0].text)


try:
    asyncio.run(main())
finally:
    processor.shutdown()
