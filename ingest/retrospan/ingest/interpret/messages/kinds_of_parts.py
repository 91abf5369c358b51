"""Messages whose parts say what they are and who says them, as Pydantic AI keeps them, in the form of the conventions."""

from __future__ import annotations

from collections.abc import Mapping

_KIND = "part_kind"
#: Role and type of each kind of part.
_KINDS: Mapping[object, tuple[str, str]] = {
    "system-prompt": ("system", "text"),
    "user-prompt": ("user", "text"),
    "text": ("assistant", "text"),
    "thinking": ("assistant", "thinking"),
    "tool-call": ("assistant", "tool-call"),
    "tool-return": ("tool", "tool-result"),
    "retry-prompt": ("tool", "tool-result"),
}


def by_role(value: object) -> list[dict[str, object]] | None:
    """Return messages by role, in order; None where these are others.

    Every request repeats the instructions: those of the last one are what the model was told.
    """
    messages = value if isinstance(value, list) else [value]
    if not messages or not _is_told_by_kind(messages[0]) or not all(map(_is_told_by_kind, messages)):
        return None
    told = [message for message in messages if isinstance(message, dict)]
    whole: list[dict[str, object]] = []
    said = next((text for message in reversed(told) if (text := message.get("instructions"))), None)
    if isinstance(said, str):
        whole.append({"role": "system", "parts": [{"type": "text", "text": said}]})
    for message in told:
        answer: list[dict[str, object]] = []
        for part in message["parts"]:
            role, kind = _KINDS.get(part[_KIND], ("assistant", str(part[_KIND])))
            if part[_KIND] == "retry-prompt" and not part.get("tool_name"):
                role, kind = "user", "text"
            if role == "assistant":
                answer.append(_part(part, kind))
            else:
                whole.append({"role": role, "parts": [_part(part, kind)]})
        if answer:
            whole.append({"role": "assistant", "parts": answer})
    return whole


def _is_told_by_kind(message: object) -> bool:
    parts = message.get("parts") if isinstance(message, dict) and "role" not in message else None
    return isinstance(parts, list) and bool(parts) and all(isinstance(p, dict) and _KIND in p for p in parts)


def _part(part: Mapping[str, object], kind: str) -> dict[str, object]:
    if kind == "text":
        return {"type": "text", "text": part.get("content")}
    read = {key: value for key, value in part.items() if key != "id"}
    if kind == "tool-call":
        read["name"] = part.get("tool_name")
    return {**read, "type": kind}
