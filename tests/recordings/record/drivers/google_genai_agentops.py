"""Google's Gen AI client with AgentOps' instrumentation, over a tracer provider of one's own; the client itself calls the tools."""

from agentops.instrumentation.providers.google_genai import GoogleGenaiInstrumentor
from google import genai
from google.genai import types
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS, provider

traces = provider()
GoogleGenaiInstrumentor().instrument(tracer_provider=traces)
client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=MODEL_URL))
config = types.GenerateContentConfig(system_instruction=INSTRUCTIONS, tools=list(TOOLS))
chat = client.chats.create(model=MODEL, config=config)
try:
    for turn in TURNS:
        print(chat.send_message(turn).text)
finally:
    traces.shutdown()
