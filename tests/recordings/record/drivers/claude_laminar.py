"""Anthropic's Claude Agent SDK with Laminar, whose SDK takes its spans and sends them to a Laminar of one's own."""

import asyncio
import json
import os
from urllib.parse import urlsplit

from lmnr import Laminar

at = urlsplit(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])
# What stands between the program and the model tells of the requests itself, by HTTP alone.
Laminar.initialize(
    project_api_key="none", base_url=f"http://{at.hostname}:{at.port}", http_port=at.port, force_http=True
)

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, create_sdk_mcp_server, tool
from shop import INSTRUCTIONS, MODEL, SCHEMAS, TOOLS, TURNS, RecordLocked

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
        env={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
    )
    async with ClaudeSDKClient(options) as client:
        for turn in TURNS:
            await client.query(turn)
            async for message in client.receive_response():
                print(message)


try:
    asyncio.run(main())
finally:
    Laminar.flush()
    Laminar.shutdown()
