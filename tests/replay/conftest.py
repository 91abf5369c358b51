"""A provider on this machine that really answers, for what goes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from retrospan.exporter.replay.current import current


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No test leaves a replay under way."""
    yield
    assert current() is None


class Provider:
    """A model on this machine that really answers, and what it was sent. Bytes are AWS's event stream."""

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any] | bytes]) -> None:
        self.asked: list[dict[str, Any]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                provider.asked.append(body)
                found = answer(body)
                is_stream = isinstance(found, bytes)
                said = found if isinstance(found, bytes) else json.dumps(found).encode()
                self.send_response(200)
                kind = "application/vnd.amazon.eventstream" if is_stream else "application/json"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def said_by_chat(content: str) -> dict[str, Any]:
    """A chat completion that says something."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "live", "object": "chat.completion", "created": 1, "model": "live", "choices": [choice]}


@pytest.fixture
def provider() -> Iterator[Provider]:
    found = Provider(lambda body: said_by_chat("said live"))
    yield found
    found.close()
