"""The model that `bench.replay` asks: it answers after a given time, and what was asked and answered makes a bundle."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

from retrospan.exporter.replay.wire.forms import form_of, read_request
from retrospan.schemas.bundle.canonical import with_keys
from retrospan.schemas.bundle.form import Bundle, ModelCall, RunRecord, ToolCall

_PATH = "/v1/chat/completions"
_AT = 1_760_000_000_000_000_000


class LocalModel:
    """A server of chat completions on this machine: it wants one page after the other, and answers after `calls` requests."""

    def __init__(self, calls: int, seconds: float) -> None:
        self.asked: list[bytes] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # One write for each answer: a second one would wait for the client's acknowledgement of the first.
            wbufsize = -1

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                model.asked.append(body)
                time.sleep(seconds)
                said = json.dumps(answer(body, calls)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{_PATH}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def answer(body: bytes, calls: int) -> dict[str, Any]:
    """Return what the model says to a request; it depends on nothing else."""
    page = sum(message["role"] == "assistant" for message in json.loads(body)["messages"]) + 1
    message: dict[str, Any] = {"role": "assistant", "content": f"There is no news on {page - 1} pages."}
    if page < calls:
        function = {"name": "read_page", "arguments": json.dumps({"page": page})}
        call = {"id": f"call_{page}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if page < calls else "stop"}
    return {
        "id": f"said-{page}",
        "object": "chat.completion",
        "created": 1,
        "model": "reader-1",
        "choices": [choice],
    }


def run_of(asked: list[bytes], question: str, run_id: str) -> RunRecord:
    """Return the run that made these requests, in their order."""
    form = form_of("127.0.0.1", _PATH)
    assert form is not None
    requests = [read_request(form, _PATH, body) for body in asked]
    calls = list[ModelCall | ToolCall]()
    for number, request in enumerate(requests):
        assert request is not None
        said = form.read(_PATH, {"messages": [answer(asked[number], len(asked))["choices"][0]["message"]]})
        n = len(calls) + 1
        calls.append(
            ModelCall(
                n=n, step=n, span_id=f"{n:016x}", started_at=_AT + n, ended_at=_AT + n,
                model=request.model, parameters=request.parameters,
                system=({"role": "system", "parts": request.system},),
                messages=tuple(request.messages), tools=tuple(request.tools or ()), answer=tuple(said.messages),
            )
        )  # fmt: skip
        if number + 1 < len(requests):
            follows = requests[number + 1]
            assert follows is not None
            (part,) = follows.messages[-1]["parts"]
            calls.append(
                ToolCall(
                    n=n + 1, step=n + 1, span_id=f"{n + 1:016x}", started_at=_AT + n + 1, ended_at=_AT + n + 1,
                    name="read_page", call_id=part["id"], has_arguments=True, arguments={"page": number + 1},
                    has_result=True, result=part["response"], effect="read", executed=True,
                )
            )  # fmt: skip
    return RunRecord(run_id=run_id, question=question, answer="", outcome="ok", calls=with_keys(calls))


def bundle_of(*runs: RunRecord) -> Bundle:
    return Bundle(made_by="bench.replay", rules=None, runs=runs)
