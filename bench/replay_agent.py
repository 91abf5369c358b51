"""The agent that `bench.replay` times: a model asks it to look something up, again and again; it prints what each call took."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import httpx

from retrospan.exporter.replay import tool

SYSTEM = "You read the catalogue from its first page to its last, one page at a time, and say then what you found in it."
TOOL = {
    "type": "function",
    "function": {
        "name": "read_page",
        "description": "Reads one page of the catalogue.",
        "parameters": {
            "type": "object",
            "properties": {"page": {"type": "integer"}},
            "required": ["page"],
        },
    },
}


@tool(effect="read")
def read_page(page: int) -> str:
    """Return a page: 600 characters, other ones on each."""
    return f"Page {page} has no further news of the winter stock. {page} " * 10


def main(question: str) -> None:
    """Ask until the model has an answer; print wall and processor seconds of every model call as one JSON object."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": question},
    ]
    walls, processors = list[float](), list[float]()
    with httpx.Client(timeout=30.0) as client:
        while True:
            body = {"model": "reader-1", "messages": messages, "tools": [TOOL]}
            wall, processor = time.perf_counter(), time.process_time()
            reply = client.post(os.environ["MODEL_URL"], json=body).raise_for_status().json()
            walls.append(time.perf_counter() - wall)
            processors.append(time.process_time() - processor)
            said = reply["choices"][0]["message"]
            messages.append(said)
            for call in said.get("tool_calls") or ():
                result = read_page(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            if not said.get("tool_calls"):
                break
    print(json.dumps({"walls": walls, "processors": processors, "answer": said["content"]}))


if __name__ == "__main__":
    main(sys.argv[1])
