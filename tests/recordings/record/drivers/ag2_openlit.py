"""AG2's conversable agent with OpenLIT."""

import sys

sys.path.append(sys.path.pop(0))  # `autogen` is AG2's module, not the driver of that name beside this one.

import openlit
from autogen import ConversableAgent, LLMConfig
from opentelemetry import trace
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS

openlit.init(application_name="orla-support", environment="test", disable_metrics=True)
config = LLMConfig({"model": MODEL, "api_key": "none", "base_url": f"{MODEL_URL}/v1", "max_retries": 0})
orla = ConversableAgent(
    "orla", system_message=INSTRUCTIONS, llm_config=config, human_input_mode="NEVER", functions=TOOLS
)
try:
    for turn in TURNS:
        response = orla.run(
            message=turn,
            max_turns=12,
            user_input=False,
            clear_history=False,
            executor_kwargs={"is_termination_msg": lambda message: not message.get("tool_calls")},
        )
        response.process()
        print(response.summary)
finally:
    trace.get_tracer_provider().shutdown()
