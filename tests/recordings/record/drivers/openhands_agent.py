"""OpenHands' agent with tools of its user's and the spans that it sends through Laminar's SDK."""

import json
from collections.abc import Sequence

from lmnr import Laminar
from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.tool import Action, Observation, ToolDefinition, ToolExecutor, register_tool
from pydantic import Field, create_model
from shop import INSTRUCTIONS, MODEL, MODEL_URL, SCHEMAS, TOOLS, TURNS, RecordLocked

KINDS = {"string": str, "integer": int}


class ShopObservation(Observation):
    """What a tool of the shop returned."""


def offer(function):
    """Register a function of the shop as a tool."""
    pascal = "".join(word.title() for word in function.__name__.split("_"))
    fields = {
        name: (KINDS[kind], Field(description=name)) for name, kind in SCHEMAS[function.__name__].items()
    }
    action = create_model(f"{pascal}Action", __base__=Action, **fields)

    class Executor(ToolExecutor):
        def __call__(self, action, conversation=None):
            try:
                result = function(**{name: getattr(action, name) for name in fields})
            except RecordLocked as error:
                return ShopObservation.from_text(f"Error: {error}", is_error=True)
            return ShopObservation.from_text(json.dumps(result, ensure_ascii=False))

    def create(cls, conv_state=None, **params) -> Sequence[ToolDefinition]:
        return [
            cls(
                description=function.__doc__.splitlines()[0],
                action_type=action,
                observation_type=ShopObservation,
                executor=Executor(),
            )
        ]

    kind = type(
        f"{pascal}Tool", (ToolDefinition,), {"create": classmethod(create), "name": function.__name__}
    )
    register_tool(function.__name__, kind)
    return Tool(name=function.__name__)


orla = Agent(
    llm=LLM(model=f"openai/{MODEL}", api_key="none", base_url=f"{MODEL_URL}/v1", num_retries=0),
    tools=[offer(tool) for tool in TOOLS],
    include_default_tools=[],
    system_prompt=INSTRUCTIONS,
)
conversation = Conversation(agent=orla, workspace=".", visualizer=None)
try:
    for turn in TURNS:
        conversation.send_message(turn)
        conversation.run()
finally:
    conversation.close()
    Laminar.flush()
