"""AgentScope's agent with its own middleware for tracing."""

import asyncio

from agentscope.agent import Agent
from agentscope.credential import OpenAICredential
from agentscope.message import UserMsg
from agentscope.middleware import TracingMiddleware
from agentscope.model import OpenAIChatModel
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, Toolkit
from shop import INSTRUCTIONS, MODEL, MODEL_URL, TOOLS, TURNS, provider

traces = provider()
allowed = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="Orla may use her tools.")
orla = Agent(
    name="orla",
    system_prompt=INSTRUCTIONS,
    model=OpenAIChatModel(
        credential=OpenAICredential(api_key="none", base_url=f"{MODEL_URL}/v1"),
        model=MODEL,
        stream=False,
        max_retries=0,
        client_kwargs={"max_retries": 0},
    ),
    toolkit=Toolkit(tools=[FunctionTool(tool, permission=allowed) for tool in TOOLS]),
    middlewares=[TracingMiddleware()],
)


async def main():
    for turn in TURNS:
        said = await orla.reply(UserMsg(name="user", content=turn))
        print(said.get_text_content())


try:
    asyncio.run(main())
finally:
    traces.shutdown()
