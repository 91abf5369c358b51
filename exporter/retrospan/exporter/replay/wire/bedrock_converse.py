"""Bedrock's Converse, whole and as the event stream of AWS. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from retrospan.exporter.replay.wire.event_stream import event
from retrospan.exporter.replay.wire.form import (
    JSON,
    Answer,
    Asked,
    Form,
    Refusal,
    argument_object,
    call_part,
    chosen,
    dicts,
    dumped,
    finish_of,
    message,
    result_part,
    split,
    text_part,
)
from retrospan.exporter.replay.wire.remembering import remembered

_PARAMETERS = {
    "temperature": "temperature",
    "topP": "top_p",
    "maxTokens": "max_tokens",
    "stopSequences": "stop_sequences",
}
_REASONS = {
    "stop": "end_turn",
    "completed": "end_turn",
    "length": "max_tokens",
    "tool_call": "tool_use",
    "tool_calls": "tool_use",
}


def _is_spoken_at(host: str, path: str) -> bool:
    return path.endswith(("/converse", "/converse-stream"))


def _read(path: str, body: JSON) -> Asked:
    config = body.get("inferenceConfig") or {}
    return Asked(
        form=FORM.name,
        model=unquote(path.rpartition("/model/")[2].rpartition("/")[0]) or None,
        streamed=path.endswith("-stream"),
        system=[_part(part) for part in dicts(body.get("system"))],
        messages=[read for each in dicts(body.get("messages")) for read in _messages(each)],
        tools=_tools(body),
        parameters=chosen(config, _PARAMETERS),
    )


@remembered
def _messages(each: JSON) -> list[JSON]:
    parts = [_part(block) for block in dicts(each.get("content"))]
    results = [part for part in parts if part["type"] == "tool_call_response"]
    others = [part for part in parts if part["type"] != "tool_call_response"]
    found = [message("tool", results)] if results else []
    if others or not results:
        found.append(message(str(each.get("role")), others))
    return found


def _part(block: JSON) -> JSON:
    if isinstance(block.get("text"), str):
        return text_part(block["text"])
    call = block.get("toolUse")
    if isinstance(call, dict):
        return call_part(call.get("toolUseId"), call.get("name"), call.get("input"))
    said = block.get("toolResult")
    if isinstance(said, dict):
        return result_part(said.get("toolUseId"), _result(dicts(said.get("content"))))
    thought = block.get("reasoningContent")
    if isinstance(thought, dict):
        return {"type": "reasoning", "content": (thought.get("reasoningText") or {}).get("text")}
    return {"type": next(iter(block), "unknown"), **block}


def _result(contents: list[JSON]) -> object:
    if len(contents) == 1:
        return contents[0].get("json", contents[0].get("text", contents[0]))
    texts = [content.get("text") for content in contents]
    return "".join(map(str, texts)) if all(isinstance(text, str) for text in texts) else contents


def _tools(body: JSON) -> list[JSON] | None:
    offered = [tool.get("toolSpec") or tool for tool in dicts((body.get("toolConfig") or {}).get("tools"))]
    if not offered:
        return None
    return [
        {
            **chosen(tool, {"name": "name", "description": "description"}),
            "parameters": (tool.get("inputSchema") or {}).get("json"),
        }
        if "name" in tool
        else tool
        for tool in offered
    ]


def _block(part: JSON) -> JSON:
    kind = part.get("type")
    if kind == "text":
        return {"text": part.get("content")}
    if kind == "tool_call":
        return {
            "toolUse": {
                "toolUseId": part.get("id"),
                "name": part.get("name"),
                "input": argument_object(part.get("arguments")),
            }
        }
    if kind == "reasoning":
        said = {"text": part.get("content") or "", **chosen(part, {"signature": "signature"})}
        return {"reasoningContent": {"reasoningText": said}}
    return {key: value for key, value in part.items() if key != "type"}


def _usage(answer: Answer) -> JSON:
    asked, said = answer.usage.get("input_tokens", 0), answer.usage.get("output_tokens", 0)
    return {"inputTokens": asked, "outputTokens": said, "totalTokens": asked + said}


def _stop(answer: Answer) -> str:
    return finish_of(answer.choices[0], _REASONS, "tool_use", "end_turn") if answer.choices else "end_turn"


def _blocks(answer: Answer) -> list[JSON]:
    return [_block(part) for choice in answer.choices for part in choice.parts]


def _whole(answer: Answer, asked: Asked) -> JSON:
    return {
        "output": {"message": {"role": "assistant", "content": _blocks(answer)}},
        "stopReason": _stop(answer),
        "usage": _usage(answer),
        "metrics": {"latencyMs": 0},
    }


def _stream(answer: Answer, asked: Asked) -> Iterator[bytes]:
    yield event("messageStart", {"role": "assistant"})
    for place, block in enumerate(_blocks(answer)):
        at = {"contentBlockIndex": place}
        call = block.get("toolUse")
        if isinstance(call, dict):
            start = {key: call[key] for key in ("toolUseId", "name")}
            yield event("contentBlockStart", {**at, "start": {"toolUse": start}})
            for piece in split(dumped(call["input"])):
                yield event("contentBlockDelta", {**at, "delta": {"toolUse": {"input": piece}}})
        elif isinstance(block.get("text"), str):
            for piece in split(block["text"]):
                yield event("contentBlockDelta", {**at, "delta": {"text": piece}})
        elif "reasoningContent" in block:
            thought = block["reasoningContent"]["reasoningText"]
            for key in [key for key in ("text", "signature") if key in thought]:
                delta = {"reasoningContent": {key: thought[key]}}
                yield event("contentBlockDelta", {**at, "delta": delta})
        yield event("contentBlockStop", at)
    yield event("messageStop", {"stopReason": _stop(answer)})
    yield event("metadata", {"usage": _usage(answer), "metrics": {"latencyMs": 0}})


def _refuse(refusal: Refusal) -> JSON:
    return {"message": refusal.message, "__type": refusal.type.rpartition(".")[2], **(refusal.body or {})}


def _as_request(answer: JSON) -> JSON:
    return {"messages": [answer["output"]["message"]]}


def _instruct(body: JSON, prompt: str) -> None:
    body["system"] = [{"text": prompt}]


FORM = Form(
    "bedrock converse",
    _is_spoken_at,
    _read,
    _whole,
    _stream,
    _refuse,
    _as_request,
    _instruct,
    stream_type="application/vnd.amazon.eventstream",
    piece=b"contentBlockDelta",
)
