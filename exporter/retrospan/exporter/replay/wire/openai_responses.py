"""OpenAI's responses. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.exporter.replay.wire.form import (
    JSON,
    Answer,
    Asked,
    Form,
    argument_text,
    call_part,
    chosen,
    dicts,
    message,
    named,
    result_part,
    split,
    text_part,
    without_head,
)
from retrospan.exporter.replay.wire.openai_chat import contents, refuse
from retrospan.exporter.replay.wire.remembering import remembered

_PARAMETERS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_output_tokens": "max_tokens",
    "previous_response_id": "previous_response_id",
    "tool_choice": "tool_choice",
    "parallel_tool_calls": "parallel_tool_calls",
}
_ECHOED = ("instructions", "tools", "tool_choice", "parallel_tool_calls", "temperature", "top_p", "text")


def _is_spoken_at(host: str, path: str) -> bool:
    return path.endswith("/responses")


def _read(path: str, body: JSON) -> Asked:
    instructions = body.get("instructions")
    system = [text_part(instructions)] if isinstance(instructions, str) and instructions else []
    asked = body.get("input")
    items = [{"role": "user", "content": asked}] if isinstance(asked, str) else dicts(asked)
    messages: list[JSON] = []
    for item in items:
        read = _item(item)
        if read["role"] == "system" and not messages:
            system += read["parts"]
        elif read["role"] == "assistant" and messages and messages[-1]["role"] == "assistant":
            messages[-1] = message("assistant", [*messages[-1]["parts"], *read["parts"]])
        else:
            messages.append(read)
    return Asked(
        form=FORM.name,
        model=body.get("model"),
        streamed=bool(body.get("stream")),
        system=system,
        messages=messages,
        tools=_tools(body),
        parameters=chosen(body, _PARAMETERS),
        echo={key: body[key] for key in _ECHOED if key in body},
    )


@remembered
def _item(item: JSON) -> JSON:
    kind = item.get("type", "message")
    if kind == "function_call":
        return message("assistant", [call_part(item.get("call_id"), item.get("name"), item.get("arguments"))])
    if kind == "custom_tool_call":
        return message("assistant", [call_part(item.get("call_id"), item.get("name"), item.get("input"))])
    if kind in ("function_call_output", "custom_tool_call_output"):
        return message("tool", [result_part(item.get("call_id"), item.get("output"))])
    if kind == "reasoning":
        thought = "".join(str(part.get("text", "")) for part in dicts(item.get("summary")))
        return message("assistant", [{"type": "reasoning", "content": thought}] if thought else [])
    if kind == "message":
        role = str(item.get("role", "user"))
        return message("system" if role == "developer" else role, contents(item.get("content")))
    return message("assistant", [item])


def _tools(body: JSON) -> list[JSON] | None:
    offered = dicts(body.get("tools"))
    if not offered:
        return None
    return [
        {key: tool[key] for key in ("name", "description", "parameters") if tool.get(key) is not None}
        if tool.get("name")
        else tool
        for tool in offered
    ]


def _output(answer: Answer) -> Iterator[JSON]:
    """Give each run of texts a message, and each call an item, in the order in which they were recorded."""
    texts: list[JSON] = []

    def said() -> Iterator[JSON]:
        if texts:
            yield {
                "type": "message",
                "id": f"msg_{answer.id}_{place}",
                "role": "assistant",
                "status": "completed",
                "content": [*texts],
            }
            texts.clear()

    place = 0
    for choice in answer.choices:
        for place, part in enumerate(choice.parts):
            kind = part.get("type")
            if kind == "text":
                kept = {key: value for key, value in part.items() if key not in ("type", "content")}
                texts.append(
                    {
                        "annotations": [],
                        "logprobs": [],
                        **kept,
                        "type": "output_text",
                        "text": part.get("content"),
                    }
                )
                continue
            if kind == "refusal":
                texts.append({"type": "refusal", "refusal": part.get("content", part.get("refusal"))})
                continue
            yield from said()
            yield _call(part) if kind == "tool_call" else _other(part, answer, place)
        yield from said()


def _call(part: JSON) -> JSON:
    call_id = str(part.get("id"))
    kept = {key: part[key] for key in ("namespace",) if key in part}
    return {
        "type": "function_call",
        **kept,
        "id": f"fc_{call_id.removeprefix('call_')}",
        "call_id": call_id,
        "name": part.get("name"),
        "arguments": argument_text(part.get("arguments")),
        "status": "completed",
    }


def _other(part: JSON, answer: Answer, place: int) -> JSON:
    if part.get("type") == "reasoning" and "summary" not in part:
        summary = [{"type": "summary_text", "text": part.get("content") or ""}]
        return {"type": "reasoning", "id": f"rs_{answer.id}_{place}", "summary": summary}
    return part


def _usage(answer: Answer) -> JSON | None:
    known = answer.usage
    if "input_tokens" not in known and "output_tokens" not in known:
        return None
    asked, said = known.get("input_tokens", 0), known.get("output_tokens", 0)
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": known.get("cache_read_tokens", 0), "cache_write_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": known.get("reasoning_tokens", 0)},
        "total_tokens": asked + said,
    }


def _whole(answer: Answer, asked: Asked) -> JSON:
    finish = answer.choices[0].finish if answer.choices else None
    is_cut = finish in ("length", "max_tokens", "max_output_tokens", "incomplete")
    echo: JSON = {"instructions": None, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return {
        "id": answer.id,
        "object": "response",
        "created_at": answer.created,
        "status": "incomplete" if is_cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "model": answer.model,
        "output": [*_output(answer)],
        "previous_response_id": asked.parameters.get("previous_response_id"),
        "metadata": {},
        "usage": _usage(answer),
        **echo,
        **asked.echo,
    }


def _stream(answer: Answer, asked: Asked) -> Iterator[bytes]:
    whole = _whole(answer, asked)
    number = 0

    def event(kind: str, **said: object) -> bytes:
        nonlocal number
        number += 1
        return named(kind, {"type": kind, "sequence_number": number - 1, **said})

    opened = {**whole, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield event("response.created", response=opened)
    yield event("response.in_progress", response=opened)
    for place, item in enumerate(whole["output"]):
        at = {"item_id": item.get("id"), "output_index": place}
        if item["type"] == "message":
            yield event(
                "response.output_item.added",
                output_index=place,
                item={**item, "content": [], "status": "in_progress"},
            )
            for index, part in enumerate(item["content"]):
                here = {**at, "content_index": index}
                key = "refusal" if part["type"] == "refusal" else "text"
                kind = "response.refusal" if key == "refusal" else "response.output_text"
                more: JSON = {} if key == "refusal" else {"logprobs": []}
                yield event("response.content_part.added", **here, part={**part, key: ""})
                for piece in split(part[key] or ""):
                    yield event(f"{kind}.delta", **here, delta=piece, **more)
                yield event(f"{kind}.done", **here, **{key: part[key]}, **more)
                yield event("response.content_part.done", **here, part=part)
        elif item["type"] == "function_call":
            yield event(
                "response.output_item.added",
                output_index=place,
                item={**item, "arguments": "", "status": "in_progress"},
            )
            kind = "response.function_call_arguments"
            for piece in split(item["arguments"]):
                yield event(f"{kind}.delta", **at, delta=piece)
            yield event(f"{kind}.done", **at, name=item["name"], arguments=item["arguments"])
        else:
            yield event("response.output_item.added", output_index=place, item=item)
        yield event("response.output_item.done", output_index=place, item=item)
    yield event(f"response.{whole['status']}", response=whole)


def _as_request(answer: JSON) -> JSON:
    return {"input": answer["output"]}


def _instruct(body: JSON, prompt: str) -> None:
    body["instructions"] = prompt
    if isinstance(body.get("input"), list):
        body["input"] = without_head(body["input"])


FORM = Form(
    "openai responses",
    _is_spoken_at,
    _read,
    _whole,
    _stream,
    refuse,
    _as_request,
    _instruct,
    piece=b".delta\n",
)
