"""Langroid's agent with Langfuse's wrapper of the client that Langroid asks; each turn is observed, tools are not."""

import importlib.util
import json
import os
from pathlib import Path

# Langroid counts tokens by a table from the network; LiteLLM brings a copy.
_LITELLM = Path(importlib.util.find_spec("litellm").origin).parent
os.environ["TIKTOKEN_CACHE_DIR"] = str(_LITELLM / "litellm_core_utils" / "tokenizers")
os.environ["LANGFUSE_PUBLIC_KEY"] = "pk-none"
os.environ["LANGFUSE_SECRET_KEY"] = "sk-none"
os.environ["LANGFUSE_BASE_URL"] = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]

import langfuse.openai  # noqa: F401  # before Langroid makes its client
import langroid as lr
import langroid.language_models as lm
from langfuse import get_client, observe
from langroid.agent.tool_message import ToolMessage
from langroid.mytypes import NonToolAction
from pydantic import create_model
from shop import INSTRUCTIONS, MODEL, MODEL_URL, SCHEMAS, TOOLS, TURNS, RecordLocked

KINDS = {"string": str, "integer": int}


def offer(function):
    """Return a function of the shop as a tool of Langroid's."""
    fields = SCHEMAS[function.__name__]

    def handle(self):
        try:
            result = function(**{name: getattr(self, name) for name in fields})
        except RecordLocked as error:
            return f"Error: {error}"
        return json.dumps(result, ensure_ascii=False)

    made = create_model(
        f"{function.__name__.title().replace('_', '')}Tool",
        __base__=ToolMessage,
        request=(str, function.__name__),
        purpose=(str, function.__doc__.splitlines()[0]),
        **{name: (KINDS[kind], ...) for name, kind in fields.items()},
    )
    made.handle = handle
    return made


agent = lr.ChatAgent(
    lr.ChatAgentConfig(
        name="orla",
        llm=lm.OpenAIGPTConfig(
            chat_model=MODEL, api_base=f"{MODEL_URL}/v1", api_key="none", stream=False, max_output_tokens=500
        ),
        system_message=INSTRUCTIONS,
        use_tools=False,
        use_functions_api=True,
        use_tools_api=True,
        handle_llm_no_tool=NonToolAction.DONE,
    )
)
agent.enable_message([offer(tool) for tool in TOOLS])
task = lr.Task(agent, name="orla", interactive=False, restart=False)


@observe(name="orla")
def answer(turn):
    return task.run(turn).content


try:
    for turn in TURNS:
        print(answer(turn))
finally:
    get_client().flush()
    get_client().shutdown()
