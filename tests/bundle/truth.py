"""What a script of the recordings asked for and got, in the form of a bundle: the live requests that were answered then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fix_recordings import Recording

from retrospan.schemas.bundle.canonical import CanonicalRequest, canonical_request
from retrospan.schemas.bundle.form import Message


def requests_of(recording: Recording) -> Iterator[CanonicalRequest]:
    """The requests as they went over the wire, but for the tools, which the recordings leave out."""
    for line in recording.truth:
        if line["kind"] == "llm":
            asked = line["request"]
            messages = asked["messages"]
            rest = {key: value for key, value in asked.items() if key not in ("messages", "tools", "system")}
            if "system" in asked:
                messages = [{"role": "system", "content": asked["system"]}, *messages]
            yield canonical_request(
                model=asked["model"], parameters=rest, messages=[_message(each) for each in messages]
            )


def _message(sent: Mapping[str, Any]) -> Message:
    """A message of a chat completion or of Anthropic's API."""
    content = sent.get("content")
    if sent["role"] == "tool":
        part = {"type": "tool_call_response", "id": sent["tool_call_id"], "response": content}
        return {"role": "tool", "parts": [part]}
    parts: list[object] = [{"type": "text", "content": content}] if isinstance(content, str) else []
    for block in content if isinstance(content, list) else ():
        if block["type"] == "text":
            parts.append({"type": "text", "content": block["text"]})
        elif block["type"] == "tool_use":
            call = {"id": block["id"], "name": block["name"], "arguments": block["input"]}
            parts.append({"type": "tool_call", **call})
        else:
            assert block["type"] == "tool_result"
            response = {"id": block["tool_use_id"], "response": block["content"]}
            parts.append({"type": "tool_call_response", **response})
    for call in sent.get("tool_calls") or ():
        made = {
            "id": call["id"],
            "name": call["function"]["name"],
            "arguments": call["function"]["arguments"],
        }
        parts.append({"type": "tool_call", **made})
    return {"role": sent["role"], "parts": parts}


def tools_of(recording: Recording) -> list[tuple[str, object, object]]:
    """Name, arguments and result of each call of a tool that the script's own tools saw end well."""
    return [
        (line["tool"], line["args"], line["result"])
        for line in recording.truth
        if line["kind"] == "tool" and line["error"] is None
    ]
