"""Anthropic's Claude Agent SDK with the telemetry of its own: the program that it starts exports spans and events."""

import asyncio
import json

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
        env={
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
            "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_LOGS_EXPORTER": "otlp",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOG_USER_PROMPTS": "1",
            "OTEL_LOG_TOOL_DETAILS": "1",
            "OTEL_LOG_TOOL_CONTENT": "1",
            "OTEL_LOG_RAW_API_BODIES": "1",
            # For programs that do not live long.
            "OTEL_LOGS_EXPORT_INTERVAL": "1000",
            "OTEL_TRACES_EXPORT_INTERVAL": "1000",
        },
    )
    async with ClaudeSDKClient(options) as client:
        for turn in TURNS:
            await client.query(turn)
            async for message in client.receive_response():
                print(message)


asyncio.run(main())
