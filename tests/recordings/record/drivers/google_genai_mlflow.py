"""Google's Gen AI client with MLflow's tracing, exported over OTLP; the client itself calls the tools."""

import os

import mlflow
from google import genai
from google.genai import types
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
mlflow.gemini.autolog()
client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=MODEL_URL))
config = types.GenerateContentConfig(system_instruction=INSTRUCTIONS, tools=list(TOOLS))
chat = client.chats.create(model=MODEL, config=config)
try:
    for turn in TURNS:
        print(chat.send_message(turn).text)
finally:
    mlflow.flush_trace_async_logging(terminate=True)
