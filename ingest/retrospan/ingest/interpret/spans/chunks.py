"""A response that was streamed and recorded as its chunks: a list of events, or the text of the stream, as one response.

The forms are those of the streams of model APIs: OpenAI's chat completions and responses, Anthropic, Gemini, Bedrock's
Converse, Ollama. Chunks that are of none of them stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from retrospan.ingest.json_text import Unreadable, read_json

Chunk = Mapping[str, object]

#: How the text of a stream begins, and a line of it that holds an event.
STREAM_BEGINS = ("data:", "event:")
_DATA = "data:"
_DONE = "[DONE]"
#: Of Anthropic's streams.
_STARTS, _DELTAS = "content_block_start", "content_block_delta"
#: Of those of OpenAI's Responses API.
_BEGUN, _ENDED = re.compile(r"response\.created"), re.compile(r"response\.(?:completed|incomplete)")
#: What the first chunk of a stream has, of whatever form.
_TELLING = ("choices", "message", "candidates", "messageStart", "contentBlockDelta", "response")


def whole_response(value: object) -> object:
    """Return the response that a list of chunks, or the text of a stream, adds up to; anything else as it is."""
    if isinstance(value, dict):
        return value  # as most are
    chunks = _events_in(value) if isinstance(value, str) and value.startswith(STREAM_BEGINS) else value
    if not isinstance(chunks, list) or not chunks:
        return value
    first = chunks[0]
    if not isinstance(first, dict) or first.keys().isdisjoint(_TELLING):
        return value
    for tells, join in _FORMS:
        if tells(first):
            told = [each for each in chunks if isinstance(each, dict)]
            found = join(told) if len(told) == len(chunks) else None
            return value if found is None else found
    return value


def _events_in(text: str) -> list[object]:
    lines = (line[len(_DATA) :].strip() for line in text.splitlines() if line.startswith(_DATA))
    events = [read_json(line) for line in lines if line and line != _DONE]
    return [] if any(isinstance(event, Unreadable) for event in events) else events


def _is_of_chat(chunk: Chunk) -> bool:
    return any("delta" in choice for choice in _dicts(chunk.get("choices")))


def _join_chat(chunks: Sequence[Chunk]) -> object:
    text = ""
    calls: dict[object, dict[str, str]] = {}
    reason: object = None
    for chunk in chunks:
        for choice in _dicts(chunk.get("choices")):
            if choice.get("index", 0) != 0:
                return None
            delta = choice.get("delta")
            delta = delta if isinstance(delta, dict) else {}
            text += _text(delta.get("content"))
            reason = choice.get("finish_reason") or reason
            for place, call in enumerate(_dicts(delta.get("tool_calls"))):
                known = calls.setdefault(call.get("index", place), {"id": "", "name": "", "arguments": ""})
                function = call.get("function")
                function = function if isinstance(function, dict) else {}
                known["id"] = known["id"] or _text(call.get("id"))
                known["name"] = known["name"] or _text(function.get("name"))
                known["arguments"] += _text(function.get("arguments"))
    asked = [
        {"id": call["id"], "type": "function", "function": {key: call[key] for key in ("name", "arguments")}}
        for call in calls.values()
    ]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": asked} if asked else {})}
    return {
        **_last(chunks, "id", "model", "usage"),
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }


def _join_blocks(chunks: Sequence[Chunk]) -> object:
    """Join Anthropic's events."""
    message: dict[str, object] = {"role": "assistant"}
    usage: dict[str, object] = {}
    blocks: dict[object, dict[str, object]] = {}
    inputs: dict[object, str] = {}
    for chunk in chunks:
        begun, delta, at = chunk.get("message"), chunk.get("delta"), chunk.get("index")
        delta = delta if isinstance(delta, dict) else {}
        if isinstance(begun, dict):
            message = {**begun}
            usage.update(_dict(begun.get("usage")))
        if chunk.get("type") == _STARTS:
            blocks[at] = {**_dict(chunk.get("content_block"))}
        elif chunk.get("type") == _DELTAS and at in blocks:
            for key in ("text", "thinking"):
                if key in delta:
                    blocks[at][key] = _text(blocks[at].get(key)) + _text(delta[key])
            inputs[at] = inputs.get(at, "") + _text(delta.get("partial_json"))
        elif chunk.get("type") == "message_delta":
            message.update(delta)
            usage.update({k: v for k, v in _dict(chunk.get("usage")).items() if v is not None})
    for at, text in inputs.items():
        given = read_json(text) if text else None
        if given is not None and not isinstance(given, Unreadable):
            blocks[at]["input"] = given
    return {**message, "content": [*blocks.values()], "usage": usage}


def _join_candidates(chunks: Sequence[Chunk]) -> object:
    """Join Gemini's chunks, each of which is a whole response with some of the parts."""
    parts: list[dict[str, object]] = []
    reason: object = None
    for chunk in chunks:
        candidates = _dicts(chunk.get("candidates"))
        if len(candidates) > 1:
            return None
        for candidate in candidates:
            reason = candidate.get("finishReason") or candidate.get("finish_reason") or reason
            for part in _dicts(_dict(candidate.get("content")).get("parts")):
                if parts and part.keys() == parts[-1].keys() == {"text"}:
                    parts[-1] = {"text": _text(parts[-1]["text"]) + _text(part["text"])}
                else:
                    parts.append(part)
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": reason}
    usage = _last(
        chunks, "usageMetadata", "usage_metadata", "modelVersion", "model_version", "responseId", "model"
    )
    return {**usage, "candidates": [candidate]}


def _join_lines(chunks: Sequence[Chunk]) -> object:
    """Join Ollama's lines: the last one has the counts."""
    text = "".join(_text(_dict(chunk.get("message")).get("content")) for chunk in chunks)
    calls = [call for chunk in chunks for call in _dicts(_dict(chunk.get("message")).get("tool_calls"))]
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    return {**chunks[-1], "message": message}


def _join_converse(chunks: Sequence[Chunk]) -> object:
    """Join the events of Bedrock's Converse."""
    blocks: dict[object, dict[str, object]] = {}
    inputs: dict[object, str] = {}
    reason: object = None
    usage: dict[str, object] = {}
    for chunk in chunks:
        started, added = _dict(chunk.get("contentBlockStart")), _dict(chunk.get("contentBlockDelta"))
        if started:
            blocks[started.get("contentBlockIndex")] = {**_dict(started.get("start"))}
        if added:
            at, delta = added.get("contentBlockIndex"), _dict(added.get("delta"))
            block = blocks.setdefault(at, {})
            if "text" in delta:
                block["text"] = _text(block.get("text")) + _text(delta["text"])
            inputs[at] = inputs.get(at, "") + _text(_dict(delta.get("toolUse")).get("input"))
        reason = _dict(chunk.get("messageStop")).get("stopReason") or reason
        usage.update(_dict(_dict(chunk.get("metadata")).get("usage")))
    for at, text in inputs.items():
        given = read_json(text) if text else None
        if given is not None and not isinstance(given, Unreadable) and "toolUse" in blocks[at]:
            blocks[at]["toolUse"] = {**_dict(blocks[at]["toolUse"]), "input": given}
    message = {"role": "assistant", "content": [*blocks.values()]}
    return {"output": {"message": message}, "stopReason": reason, "usage": usage}


def _completed(chunks: Sequence[Chunk]) -> object:
    """Return the response with which a stream of OpenAI's Responses API ends."""
    last = _dict(chunks[-1].get("response"))
    return last if _ENDED.fullmatch(_text(chunks[-1].get("type"))) and last else None


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, object]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _last(chunks: Sequence[Chunk], *keys: str) -> dict[str, object]:
    """Return the last value of each key that has one."""
    return {key: chunk[key] for chunk in chunks for key in keys if chunk.get(key) is not None}


#: How the first chunk tells which stream it is of, and what joins its chunks.
_FORMS: Sequence[tuple[Callable[[Chunk], bool], Callable[[Sequence[Chunk]], object]]] = (
    (_is_of_chat, _join_chat),
    (lambda chunk: chunk.get("type") == "message_start" and "message" in chunk, _join_blocks),
    (lambda chunk: isinstance(chunk.get("candidates"), list), _join_candidates),
    (lambda chunk: "done" in chunk and isinstance(chunk.get("message"), dict), _join_lines),
    (lambda chunk: "messageStart" in chunk or "contentBlockDelta" in chunk, _join_converse),
    (lambda chunk: _BEGUN.fullmatch(_text(chunk.get("type"))) is not None, _completed),
)
