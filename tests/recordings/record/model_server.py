"""A model server that says what a scenario orders, and writes down what it was asked and what it said."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from recordings.record import answers, text_protocol
from recordings.record.answers import JSON, Answer
from recordings.record.scenarios import HANDOFF, Scenario, Step, input_tokens, output_tokens

#: The end of a path → the API that is spoken there.
_APIS = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "anthropic",
    "/api/chat": "ollama",
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
}
#: A tool whose name has one of these in it hands over; one of these gives an answer to the user.
_HANDS_OVER = ("transfer", "handoff", "delegate")
_FINAL_TOOLS = ("final_answer",)


class ModelServer:
    """Answers on a free port of this machine, from the first step of the scenario to its last, then the last again.

    Every request and its answer are one line of the truth file, tool definitions apart. Requests for anything but an
    answer (a list of models, token counts) get status 404 and no line.
    """

    def __init__(self, scenario: Scenario, truth: Path, response_model: str) -> None:
        self._scenario, self._truth, self._response_model = scenario, truth, response_model
        self._next = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                server._serve(self, body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _serve(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        arrived = time.time()
        path = handler.path.partition("?")[0]
        api = next((api for end, api in _APIS.items() if path.endswith(end)), None)
        if api is None:
            return _send(handler, 404, json.dumps({"error": {"message": f"nothing at {path}"}}).encode())
        request = json.loads(body)
        streams = bool(request.get("stream")) or path.endswith(":streamGenerateContent")
        with self._lock:
            turn, number, step = self._take(request)
            status, whole = self._answer(api, request, turn, number, step)
            line = {
                "kind": "llm",
                "t": arrived,
                "api": api,
                "turn": turn,
                "step": number,
                "stream": streams,
                "traceparent": handler.headers.get("traceparent"),
                "request": _without_tools(request),
                "response": whole,
            }
            with self._truth.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        if streams and status == 200:
            return _send(handler, 200, b"".join(_stream(api, request, whole)), "text/event-stream")
        return _send(handler, status, json.dumps(whole, ensure_ascii=False).encode())

    def _take(self, request: JSON) -> tuple[int, int, Step]:
        """Return the step that is next; a failure stays the next one, so that a client that tries again fails again."""
        steps = self._scenario.steps
        at = min(self._next, len(steps) - 1)
        if not (steps[at][2].fails or text_protocol.comes_again(request, steps[at][2])):
            self._next += 1
        return steps[at]

    def _answer(self, api: str, request: JSON, turn: int, number: int, step: Step) -> tuple[int, JSON]:
        if step.fails:
            return 400, answers.refusal(api)
        offered = _tools_of(request)
        calls = []
        for place, call in enumerate(step.calls):
            name, arguments = call.name, call.arguments
            if name == HANDOFF:
                name, arguments = _handing_over(offered)
            elif name not in offered:
                # As an agent behind a server of tools offers them: mcp__shop__search_docs, shop-search_docs.
                name = next((o for o in offered if o.endswith((f"_{name}", f"-{name}"))), name)
            calls.append((self._scenario.call_id(turn, number, place), name, arguments))
        text = step.text
        final = next((name for name in _FINAL_TOOLS if name in offered), None)
        if final and not calls:
            calls, text = (
                [(self._scenario.call_id(turn, number, 0), final, _said_by(offered[final], text))],
                None,
            )
        answer = Answer(
            name=f"{self._scenario.name}-{turn}-{number}",
            model=self._response_model,
            text=text,
            calls=tuple(calls),
            input_tokens=input_tokens(turn, number),
            output_tokens=output_tokens(turn, number),
            cached_tokens=64 if number else 0,
        )
        spoken = text_protocol.spoken(request, step)
        if spoken is not None:
            answer = replace(answer, text=spoken, calls=())
        if api == "responses":
            return 200, answers.responses(answer, request.get("instructions"), _namespaces_of(request))
        forms = {
            "chat": answers.chat,
            "anthropic": answers.anthropic,
            "gemini": answers.gemini,
            "ollama": answers.ollama,
        }
        return 200, forms[api](answer)


def _stream(api: str, request: JSON, whole: JSON) -> Iterator[bytes]:
    if api == "chat":
        return answers.chat_stream(whole, bool((request.get("stream_options") or {}).get("include_usage")))
    streams = {
        "responses": answers.responses_stream,
        "anthropic": answers.anthropic_stream,
        "gemini": answers.gemini_stream,
        "ollama": answers.ollama_stream,
    }
    return streams[api](whole)


def _tools_of(request: JSON) -> dict[str, JSON]:
    """The tools that a request offers: name → JSON schema of the arguments."""
    found: dict[str, JSON] = {}
    for tool in request.get("tools") or ():
        inside = tool.get("functionDeclarations") or tool.get("function_declarations") or tool.get("tools")
        for entry in inside or [tool]:
            about = entry.get("function") or entry
            schema = about.get("parameters") or about.get("input_schema") or {}
            found[str(about.get("name"))] = schema
    return found


def _namespaces_of(request: JSON) -> dict[str, str]:
    """The namespace of each tool that is offered in one: OpenAI's responses name it beside the tool's own name."""
    spaces = [tool for tool in request.get("tools") or () if tool.get("type") == "namespace"]
    return {tool["name"]: space["name"] for space in spaces for tool in space["tools"]}


def _said_by(schema: JSON, text: str | None) -> JSON:
    """The arguments of a tool that takes the answer for the user, whatever it calls it."""
    return {next(iter(schema.get("properties") or {}), "answer"): text}


def _handing_over(offered: dict[str, JSON]) -> tuple[str, JSON]:
    name = next((name for name in offered if any(word in name.lower() for word in _HANDS_OVER)), HANDOFF)
    arguments: JSON = {}
    for key, schema in (offered.get(name, {}).get("properties") or {}).items():
        if key in offered[name].get("required", ()):
            arguments[key] = (schema.get("enum") or ["orla"])[0]
    return name, arguments


def _without_tools(request: JSON) -> JSON:
    if not request.get("tools"):
        return request
    return {**request, "tools": f"({len(_tools_of(request))} tool definitions left out)"}


def _send(handler: Any, status: int, body: bytes, content_type: str = "application/json") -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", content_type)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
