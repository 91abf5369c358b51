"""Tool calls for programs that ask for them in the text of an answer: DSPy's ReAct field by field, BeeAI as JSON."""

from __future__ import annotations

import json
import re

from recordings.record.answers import JSON
from recordings.record.scenarios import Call, Step

_NEXT = "next_tool_name"


def _fields_wanted(request: JSON) -> list[str]:
    """The output fields that a prompt of DSPy's asks for, in order; none when it is no such prompt."""
    messages = request.get("messages")
    head = messages[0].get("content") if isinstance(messages, list) and messages else None
    if not isinstance(head, str) or "Your output fields are:" not in head:
        return []
    listed = head.partition("Your output fields are:")[2].partition("All interactions")[0]
    return re.findall(r"^\d+\. `(\w+)`", listed, re.MULTILINE)


def comes_again(request: JSON, step: Step) -> bool:
    """Whether the step has to be said once more: the tool loop ends first, the answer is another request."""
    return _NEXT in _fields_wanted(request) and not step.calls


def spoken(request: JSON, step: Step) -> str | None:
    """The step as fields of text, or None when the program takes tool calls as its API has them."""
    wanted = (request.get("response_format") or {}).get("json_schema") or {}
    if wanted.get("name") == "ToolCall":
        return _as_json(step)
    fields = _fields_wanted(request)
    if not fields:
        return None
    first = step.calls[0] if step.calls else None
    said = {
        "next_thought": step.text if first and step.text else "I go on." if first else "I have all I need.",
        "next_tool_name": first.name if first else "finish",
        "next_tool_args": json.dumps(first.arguments if first else {}, ensure_ascii=False),
        "reasoning": "The tools said so.",
    }
    lines = [f"[[ ## {field} ## ]]\n{said.get(field, step.text)}" for field in fields]
    return "\n\n".join([*lines, "[[ ## completed ## ]]"])


def _as_json(step: Step) -> str:
    """The first call, or the answer as the call of a tool that gives it to the user."""
    call = step.calls[0] if step.calls else Call("final_answer", {"response": step.text})
    return json.dumps({"item": {"name": call.name, "parameters": call.arguments}}, ensure_ascii=False)
