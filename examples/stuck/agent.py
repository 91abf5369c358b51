"""An agent that answers customers from documents of which there are none: it searches on and on. README.md follows it.

MODEL_URL=http://127.0.0.1:8080/v1/chat/completions python agent.py "Can I get a refund?"
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span

from retrospan.exporter import instrument
from retrospan.exporter import run as recorded
from retrospan.exporter.replay import tool

tracer = trace.get_tracer("support.agent")


@tool(effect="read")
def search_docs(query: str) -> dict[str, Any]:
    return {"docs": [], "count": 0}


def parts(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as the GenAI conventions record it."""
    if message["role"] == "tool":
        response = json.loads(message["content"])
        part = {"type": "tool_call_response", "id": message["tool_call_id"], "response": response}
        return {"role": "tool", "parts": [part]}
    found: list[dict[str, Any]] = []
    if message["content"]:
        found.append({"type": "text", "content": message["content"]})
    for call in message.get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"])
        found.append(
            {"type": "tool_call", "id": call["id"], "name": call["function"]["name"], "arguments": arguments}
        )
    return {"role": message["role"], "parts": found}


def record(span: Span, **attributes: object) -> None:
    for name, value in attributes.items():
        text = value if isinstance(value, str) else json.dumps(value)
        span.set_attribute(f"gen_ai.{name.replace('__', '.')}", text)


def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Ask the model once; it has two seconds."""
    with tracer.start_as_current_span("chat toy-1") as span:
        record(
            span,
            operation__name="chat",
            request__model="toy-1",
            system_instructions=parts(messages[0])["parts"],
        )
        record(span, input__messages=[parts(each) for each in messages[1:]])
        body = json.dumps({"model": "toy-1", "messages": messages}).encode()
        request = urllib.request.Request(os.environ["MODEL_URL"], body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=2) as reply:
            said: dict[str, Any] = json.load(reply)["choices"][0]["message"]
        record(span, output__messages=[parts(said)])
        return said


def answer(question: str) -> str:
    """Return the answer to a customer, as the model gives it after its searches."""
    prompt = Path(__file__).with_name("prompt.txt").read_text(encoding="utf-8").strip()
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": prompt},
        {"role": "user", "content": question},
    ]
    while True:
        said = ask(messages)
        messages.append(said)
        if not said.get("tool_calls"):
            return str(said["content"])
        for call in said["tool_calls"]:
            with tracer.start_as_current_span("execute_tool search_docs") as span:
                arguments = json.loads(call["function"]["arguments"])
                record(
                    span, operation__name="execute_tool", tool__name="search_docs", tool__call__id=call["id"]
                )
                result = search_docs(**arguments)
                record(span, tool__call__arguments=arguments, tool__call__result=result)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})


def main(question: str) -> None:
    instrument(service_name="support")
    with recorded("support", input=question):
        print(answer(question))


if __name__ == "__main__":
    main(sys.argv[1])
