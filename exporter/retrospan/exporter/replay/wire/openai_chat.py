"""OpenAI's chat completions, and what speaks like them (Azure, vLLM, Groq, Together, Mistral, DeepSeek …). Pure."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.exporter.replay.wire.form import (
    JSON,
    Answer,
    Asked,
    Choice,
    Form,
    Refusal,
    argument_text,
    call_part,
    chosen,
    data,
    dicts,
    finish_of,
    message,
    parts_of,
    result_part,
    split,
    text_of,
    text_part,
    without_head,
)
from retrospan.exporter.replay.wire.remembering import remembered

_PARAMETERS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "seed": "seed",
    "stop": "stop_sequences",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "n": "choice.count",
    **{name: name for name in ("tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort")},
}
_ROLES = {"developer": "system", "function": "tool"}
_REASONS = {
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "end_turn": "stop",
    "completed": "stop",
    "max_tokens": "length",
    "stop_sequence": "stop",
}
#: Parts with a place of their own in a message.
_PLACED = {"text", "tool_call", "reasoning", "refusal"}


def _is_spoken_at(host: str, path: str) -> bool:
    return path.endswith("/chat/completions")


def _read(path: str, body: JSON) -> Asked:
    system: list[JSON] = []
    messages: list[JSON] = []
    for each in dicts(body.get("messages")):
        read = _message(each)
        if read["role"] == "system" and not messages:
            system += read["parts"]
        else:
            messages.append(read)
    options = body.get("stream_options")
    return Asked(
        form=FORM.name,
        model=body.get("model"),
        streamed=bool(body.get("stream")),
        system=system,
        messages=messages,
        tools=_tools(body),
        parameters=chosen(body, _PARAMETERS),
        choices=body["n"] if isinstance(body.get("n"), int) else 1,
        with_usage=isinstance(options, dict) and bool(options.get("include_usage")),
    )


@remembered
def _message(each: JSON) -> JSON:
    role = str(each.get("role"))
    content = each.get("content")
    if role in ("tool", "function"):
        return message("tool", [result_part(each.get("tool_call_id"), content)])
    parts = contents(content)
    thought = each.get("reasoning_content")
    if isinstance(thought, str) and thought:
        parts.insert(0, {"type": "reasoning", "content": thought})
    if isinstance(each.get("refusal"), str):
        parts.append({"type": "refusal", "content": each["refusal"]})
    for call in dicts(each.get("tool_calls")):
        about = call.get("function") or call.get("custom") or {}
        parts.append(call_part(call.get("id"), about.get("name"), about.get("arguments", about.get("input"))))
    old = each.get("function_call")
    if isinstance(old, dict):
        parts.append(call_part(None, old.get("name"), old.get("arguments")))
    return message(_ROLES.get(role, role), parts)


def contents(content: object) -> list[JSON]:
    """Return the parts of a content: a text, or a list of parts of which only texts get another form."""
    if isinstance(content, str):
        return [text_part(content)] if content else []
    if not isinstance(content, list):
        return []
    return [
        text_part(part)
        if isinstance(part, str)
        else text_part(part["text"])
        if isinstance(part, dict) and isinstance(part.get("text"), str)
        else part
        for part in content
    ]


def _tools(body: JSON) -> list[JSON] | None:
    offered = [tool.get("function") or tool for tool in dicts(body.get("tools"))]
    offered += dicts(body.get("functions"))
    if not offered:
        return None
    return [
        {key: tool[key] for key in ("name", "description", "parameters") if tool.get(key) is not None}
        for tool in offered
    ]


def _common(answer: Answer, kind: str) -> JSON:
    return {
        "id": answer.id,
        "object": kind,
        "created": answer.created,
        "model": answer.model,
        "system_fingerprint": None,
    }


def _usage(answer: Answer) -> JSON | None:
    known = answer.usage
    if "input_tokens" not in known and "output_tokens" not in known:
        return None
    asked, said = known.get("input_tokens", 0), known.get("output_tokens", 0)
    found: JSON = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    if "cache_read_tokens" in known:
        found["prompt_tokens_details"] = {"cached_tokens": known["cache_read_tokens"]}
    if "reasoning_tokens" in known:
        found["completion_tokens_details"] = {"reasoning_tokens": known["reasoning_tokens"]}
    return found


def _said(choice: Choice) -> JSON:
    said: JSON = {"role": "assistant", "content": text_of(choice.parts), "refusal": None}
    for part in choice.parts:
        if part.get("type") == "reasoning":
            said["reasoning_content"] = said.get("reasoning_content", "") + str(part.get("content") or "")
        elif part.get("type") == "refusal":
            said["refusal"] = part.get("content", part.get("refusal"))
    calls = parts_of(choice.parts, "tool_call")
    if calls:
        said["tool_calls"] = [_call(call) for call in calls]
    others = [part for part in choice.parts if part.get("type") not in _PLACED]
    if others:
        said["content"] = [
            *([{"type": "text", "text": said["content"]}] if said["content"] is not None else []),
            *others,
        ]
    return said


def _call(part: JSON) -> JSON:
    about = {"name": part.get("name"), "arguments": argument_text(part.get("arguments"))}
    return {"id": part.get("id"), "type": "function", "function": about}


def _finish(choice: Choice) -> str:
    return finish_of(choice, _REASONS, "tool_calls", "stop")


def _whole(answer: Answer, asked: Asked) -> JSON:
    usage = _usage(answer)
    return {
        **_common(answer, "chat.completion"),
        "choices": [
            {"index": place, "message": _said(choice), "finish_reason": _finish(choice), "logprobs": None}
            for place, choice in enumerate(answer.choices)
        ],
        **({"usage": usage} if usage else {}),
    }


def _stream(answer: Answer, asked: Asked) -> Iterator[bytes]:
    common = _common(answer, "chat.completion.chunk")

    def event(place: int, delta: JSON, finish: str | None = None) -> bytes:
        choices = [{"index": place, "delta": delta, "finish_reason": finish, "logprobs": None}]
        return data({**common, "choices": choices})

    for place, choice in enumerate(answer.choices):
        said = _said(choice)
        yield event(place, {"role": "assistant", "content": ""})
        for key in ("reasoning_content", "content", "refusal"):
            text = said.get(key)
            for piece in split(text) if isinstance(text, str) else ():
                yield event(place, {key: piece})
        for number, call in enumerate(said.get("tool_calls", ())):
            about = call["function"]
            opened = {"index": number, **call, "function": {**about, "arguments": ""}}
            yield event(place, {"tool_calls": [opened]})
            for piece in split(about["arguments"]):
                yield event(place, {"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
        yield event(place, {}, _finish(choice))
    usage = _usage(answer)
    if asked.with_usage and usage:
        yield data({**common, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def refuse(refusal: Refusal) -> JSON:
    """Return OpenAI's body of an error: the recorded one, or one with the recorded message."""
    if refusal.body is not None:
        return refusal.body if "error" in refusal.body else {"error": refusal.body}
    return {"error": {"message": refusal.message, "type": refusal.type, "param": None, "code": None}}


def _as_request(answer: JSON) -> JSON:
    return {"messages": [choice["message"] for choice in answer["choices"]]}


def _instruct(body: JSON, prompt: str) -> None:
    body["messages"] = [{"role": "system", "content": prompt}, *without_head(dicts(body.get("messages")))]


FORM = Form(
    "openai chat",
    _is_spoken_at,
    _read,
    _whole,
    _stream,
    refuse,
    _as_request,
    _instruct,
    piece=b'"finish_reason": null',
)
