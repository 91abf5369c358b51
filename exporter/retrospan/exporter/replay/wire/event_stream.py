"""AWS's event stream: messages with lengths, headers and payload, each checked; what Bedrock streams answers in. Pure."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from zlib import crc32

from retrospan.exporter.replay.wire.form import JSON

_PRELUDE = struct.Struct("!III")
_TEXT = 7
_LENGTHS = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}


def event(kind: str, payload: JSON) -> bytes:
    """Return one message."""
    body = json.dumps(payload, ensure_ascii=False).encode()
    headers = b"".join(
        struct.pack("!B", len(name)) + name + b"\x07" + struct.pack("!H", len(value)) + value
        for name, value in (
            (b":event-type", kind.encode()),
            (b":content-type", b"application/json"),
            (b":message-type", b"event"),
        )
    )
    prelude = struct.pack("!II", 12 + len(headers) + len(body) + 4, len(headers))
    whole = prelude + struct.pack("!I", crc32(prelude)) + headers + body
    return whole + struct.pack("!I", crc32(whole))


def events(data: bytes) -> Iterator[tuple[str, JSON]]:
    """Yield the kind and the payload of each message. Raises ValueError for what is cut or damaged, and for an error in
    the stream.
    """
    at = 0
    while at < len(data):
        if len(data) - at < _PRELUDE.size:
            raise ValueError("the stream is cut")
        size, of_headers, check = _PRELUDE.unpack_from(data, at)
        end, body = at + size, at + _PRELUDE.size + of_headers
        if crc32(data[at : at + 8]) != check or end > len(data) or body + 4 > end:
            raise ValueError("the stream is cut or damaged")
        if crc32(data[at : end - 4]) != int.from_bytes(data[end - 4 : end]):
            raise ValueError("a message of the stream is damaged")
        try:
            headers = dict(_headers(data[at + _PRELUDE.size : body]))
        except (IndexError, KeyError) as error:
            raise ValueError("a message of the stream has headers that cannot be read") from error
        payload = json.loads(data[body : end - 4] or b"{}")
        if headers.get(":message-type") != "event" or not isinstance(payload, dict):
            kind = headers.get(":exception-type") or headers.get(":error-code") or "no event"
            raise ValueError(f"the stream ends with {kind}")
        yield headers.get(":event-type", ""), payload
        at = end


def _headers(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the headers that are texts."""
    at = 0
    while at < len(data):
        name = data[at + 1 : at + 1 + data[at]].decode()
        at += 1 + data[at]
        kind, at = data[at], at + 1
        if kind in (6, _TEXT):
            size = int.from_bytes(data[at : at + 2])
            if kind == _TEXT:
                yield name, data[at + 2 : at + 2 + size].decode()
            at += 2 + size
        else:
            at += _LENGTHS[kind]


def whole_answer(data: bytes) -> JSON:
    """Return the answer of Converse that was streamed, as it comes unstreamed. Raises ValueError for one that has no
    end.
    """
    blocks: dict[int, JSON] = {}
    found: JSON = {"output": {"message": {"role": "assistant", "content": []}}}
    for kind, payload in events(data):
        if kind == "messageStart":
            found["output"]["message"]["role"] = payload.get("role", "assistant")
        elif kind in ("contentBlockStart", "contentBlockDelta"):
            block = blocks.setdefault(int(payload["contentBlockIndex"]), {})
            _add(block, payload.get("start") or payload.get("delta") or {})
        elif kind == "messageStop":
            found["stopReason"] = payload.get("stopReason")
        elif kind == "metadata":
            found.update({key: payload[key] for key in ("usage", "metrics") if key in payload})
    if "stopReason" not in found:
        raise ValueError("the stream has no end")
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"].get("input") or "{}")
    found["output"]["message"]["content"] = [blocks[place] for place in sorted(blocks)]
    return found


def _add(block: JSON, piece: JSON) -> None:
    """Add a piece to what is there of a block: texts grow."""
    if "text" in piece:
        block["text"] = block.get("text", "") + piece["text"]
    if "toolUse" in piece:
        use = block.setdefault("toolUse", {})
        use.update({key: value for key, value in piece["toolUse"].items() if key != "input"})
        use["input"] = use.get("input", "") + piece["toolUse"].get("input", "")
    if "reasoningContent" in piece:
        thought = block.setdefault("reasoningContent", {})
        said = piece["reasoningContent"]
        for key in [key for key in ("text", "signature") if key in said]:
            text = thought.setdefault("reasoningText", {})
            text[key] = text.get(key, "") + said[key]
        if "redactedContent" in said:
            thought["redactedContent"] = said["redactedContent"]
