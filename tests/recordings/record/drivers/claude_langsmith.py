"""Anthropic's Claude Agent SDK with LangSmith's integration, exported as OTLP; the tools are on a server inside the process."""

import asyncio
import json

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, create_sdk_mcp_server, tool
from langsmith.integrations.claude_agent_sdk import configure_claude_agent_sdk
from langsmith.run_trees import get_cached_client
from shop import INSTRUCTIONS, MODEL, SCHEMAS, SESSION, TOOLS, TURNS, RecordLocked, provider

traces = provider()
configure_claude_agent_sdk(metadata={"session_id": SESSION})
_KINDS = {"string": str, "integer": int}


def offered(function):
    schema = {name: _KINDS[kind] for name, kind in SCHEMAS[function.__name__].items()}

    @tool(function.__name__, function.__doc__.splitlines()[0], schema)
    async def run(arguments):
        try:
            text, failed = json.dumps(function(**arguments), ensure_ascii=False), False
        except RecordLocked as error:
            text, failed = str(error), True
        return {"content": [{"type": "text", "text": text}], "is_error": failed}

    return run


async def main():
    options = ClaudeAgentOptions(
        model=MODEL,
        system_prompt=INSTRUCTIONS,
        mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[offered(t) for t in TOOLS])},
        allowed_tools=[f"mcp__shop__{t.__name__}" for t in TOOLS],
        tools=[],
        setting_sources=[],
        env={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"},
    )
    async with ClaudeSDKClient(options) as client:
        for turn in TURNS:
            await client.query(turn)
            async for message in client.receive_response():
                print(message)


try:
    asyncio.run(main())
finally:
    get_cached_client().flush()
    traces.shutdown()
