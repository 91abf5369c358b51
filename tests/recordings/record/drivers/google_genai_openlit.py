"""Google's Gen AI client with OpenLIT; the client itself calls the tools."""

import openlit
from google import genai
from google.genai import types
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=MODEL_URL))
config = types.GenerateContentConfig(system_instruction=INSTRUCTIONS, tools=list(TOOLS))
chat = client.chats.create(model=MODEL, config=config)
try:
    for turn in TURNS:
        print(chat.send_message(turn).text)
finally:
    trace.get_tracer_provider().shutdown()
