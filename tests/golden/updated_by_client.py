"""An update through one client: asked for really, taken down, and replayed from what was taken down. Prints what came of it as JSON.

python updated_by_client.py CLIENT URL
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from typing import Any

from retrospan.exporter.replay import replay
from retrospan.schemas.bundle.form import Bundle, RunRecord

BODY = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hello?"}]}
NOTHING = Bundle(made_by="", rules=None, runs=(RunRecord(run_id="run-1"),))


def by_aiohttp(url: str) -> str:
    aiohttp: Any = import_module("aiohttp")

    async def ask() -> str:
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/chat/completions", json=BODY) as reply,
        ):
            return str((await reply.json())["choices"][0]["message"]["content"])

    return asyncio.run(ask())


def bedrock(url: str) -> Any:
    return (
        import_module("botocore.session")
        .get_session()
        .create_client(
            "bedrock-runtime",
            endpoint_url=url,
            region_name="eu-west-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
        )
    )


SAID = [{"role": "user", "content": [{"text": "Hello?"}]}]


def by_botocore(url: str) -> str:
    found = bedrock(url).converse(modelId="m", messages=SAID)
    return str(found["output"]["message"]["content"][0]["text"])


def by_botocore_stream(url: str) -> str:
    found = bedrock(url).converse_stream(modelId="m", messages=SAID)
    deltas = [each["contentBlockDelta"]["delta"] for each in found["stream"] if "contentBlockDelta" in each]
    return "".join(delta["text"] for delta in deltas)


CLIENTS = {
    "aiohttp": by_aiohttp,
    "botocore": by_botocore,
    "botocore-stream": by_botocore_stream,
}

if __name__ == "__main__":
    ask, url = CLIENTS[sys.argv[1]], sys.argv[2]
    with replay(NOTHING, mode="update") as session:
        live = ask(url)
        made = session.new_run()
    with replay(Bundle(made_by="", rules=None, runs=(made,))) as session:
        again = ask(url)
    told = {"live": live, "again": again, "answer": made.answer, "verdict": session.report.verdict}
    print(json.dumps(told))
