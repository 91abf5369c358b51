"""AG2's agent with MLflow's tracing, exported over OTLP."""

import os

import mlflow
from autogen import ConversableAgent, LLMConfig
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS

os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
mlflow.ag2.autolog()
config = LLMConfig({"model": MODEL, "api_key": "none", "base_url": f"{MODEL_URL}/v1", "cache_seed": None})
agent = ConversableAgent(
    "orla", system_message=INSTRUCTIONS, llm_config=config, human_input_mode="NEVER", functions=TOOLS
)
try:
    for turn in TURNS:
        response = agent.run(message=turn, max_turns=12, user_input=False, clear_history=False)
        response.process()
        print(response.summary)
finally:
    mlflow.flush_trace_async_logging(terminate=True)
