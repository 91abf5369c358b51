"""Google's Gen AI client with OpenLLMetry; the client itself calls the tools."""

from google import genai
from google.genai import types
from opentelemetry.instrumentation.google_generativeai import GoogleGenerativeAiInstrumentor
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS, provider

traces = provider()
GoogleGenerativeAiInstrumentor().instrument(tracer_provider=traces)
client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=MODEL_URL))
config = types.GenerateContentConfig(system_instruction=INSTRUCTIONS, tools=list(TOOLS))
chat = client.chats.create(model=MODEL, config=config)
try:
    for turn in TURNS:
        print(chat.send_message(turn).text)
finally:
    traces.shutdown()
