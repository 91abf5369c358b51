"""A model on this machine, for the example: without a word on when to stop it searches on, and in the end it hangs.

python model.py 8080
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SEARCHES = 20


def answer(messages: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return what the model says, None where it hangs."""
    prompt = messages[0]["content"]
    found = [message for message in messages if message["role"] == "tool"]
    if "three times" in prompt and len(found) >= 3:
        return {
            "role": "assistant",
            "content": "I found nothing about refunds. A colleague will write to you.",
        }
    if len(found) >= SEARCHES:
        return None
    function = {"name": "search_docs", "arguments": '{"query": "refund policy"}'}
    call = {"id": f"call_{len(found) + 1}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        said = answer(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"])
        if said is None:
            time.sleep(5)
            return
        reason = "tool_calls" if said.get("tool_calls") else "stop"
        choice = {"index": 0, "message": said, "finish_reason": reason}
        body = json.dumps({"id": "1", "object": "chat.completion", "model": "toy-1", "choices": [choice]})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
