"""smolagents' agent of tool calls with MLflow's tracing, exported over OTLP."""

import os

import mlflow
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS
from smolagents import OpenAIModel, ToolCallingAgent, tool

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
mlflow.smolagents.autolog()
model = OpenAIModel(MODEL, api_base=f"{MODEL_URL}/v1", api_key="none")
agent = ToolCallingAgent(
    [tool(t) for t in TOOLS], model, name="orla", instructions=INSTRUCTIONS, max_steps=10
)
try:
    for number, turn in enumerate(TURNS):
        print(agent.run(turn, reset=number == 0))
finally:
    mlflow.flush_trace_async_logging(terminate=True)
