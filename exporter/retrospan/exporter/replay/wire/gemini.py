"""Gemini's generateContent, at Google's API and at Vertex AI. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.exporter.replay.wire.form import (
    JSON,
    Answer,
    Asked,
    Choice,
    Form,
    Refusal,
    argument_object,
    call_part,
    chosen,
    data,
    dicts,
    finish_of,
    message,
    result_part,
    text_part,
)
from retrospan.exporter.replay.wire.remembering import remembered

_PARAMETERS = {
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "maxOutputTokens": "max_tokens",
    "seed": "seed",
    "stopSequences": "stop_sequences",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
    "candidateCount": "choice.count",
}
_WHOLE, _STREAMED = ":generateContent", ":streamGenerateContent"
_REASONS = {
    "stop": "STOP",
    "end_turn": "STOP",
    "tool_call": "STOP",
    "tool_calls": "STOP",
    "tool_use": "STOP",
    "length": "MAX_TOKENS",
    "max_tokens": "MAX_TOKENS",
    "content_filter": "SAFETY",
}
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def _is_spoken_at(host: str, path: str) -> bool:
    return path.endswith((_WHOLE, _STREAMED))


def _read(path: str, body: JSON) -> Asked:
    system = body.get("systemInstruction") or body.get("system_instruction") or {}
    config = body.get("generationConfig") or body.get("generation_config") or {}
    count = config.get("candidateCount")
    return Asked(
        form=FORM.name,
        model=path.rpartition("/models/")[2].partition(":")[0] or None,
        streamed=path.endswith(_STREAMED),
        system=[_part(part) for part in dicts(system.get("parts"))],
        messages=[read for each in dicts(body.get("contents")) for read in _messages(each)],
        tools=_tools(body),
        parameters=chosen(config, _PARAMETERS),
        choices=count if isinstance(count, int) else 1,
    )


@remembered
def _messages(each: JSON) -> list[JSON]:
    role = "assistant" if each.get("role") == "model" else "user"
    parts = [_part(part) for part in dicts(each.get("parts"))]
    results = [part for part in parts if part["type"] == "tool_call_response"]
    others = [part for part in parts if part["type"] != "tool_call_response"]
    found = [message("tool", results)] if results else []
    if others or not results:
        found.append(message(role, others))
    return found


def _part(part: JSON) -> JSON:
    if isinstance(part.get("text"), str):
        kind = "reasoning" if part.get("thought") else "text"
        return text_part(part["text"]) if kind == "text" else {"type": kind, "content": part["text"]}
    call = part.get("functionCall") or part.get("function_call")
    if isinstance(call, dict):
        return call_part(call.get("id"), call.get("name"), call.get("args") or {})
    said = part.get("functionResponse") or part.get("function_response")
    if isinstance(said, dict):
        result = result_part(said.get("id"), said.get("response"))
        return {**result, "name": said.get("name")}
    return {"type": next(iter(part), "unknown"), **part}


def _tools(body: JSON) -> list[JSON] | None:
    offered = [
        about
        for tool in dicts(body.get("tools"))
        for about in dicts(tool.get("functionDeclarations") or tool.get("function_declarations")) or [tool]
    ]
    if not offered:
        return None
    names = {
        "name": "name",
        "description": "description",
        "parametersJsonSchema": "parameters",
        "parameters_json_schema": "parameters",
        "parameters": "parameters",
    }
    return [chosen(about, names) if "name" in about else about for about in offered]


def _content(choice: Choice) -> JSON:
    return {"role": "model", "parts": [_said(part) for part in choice.parts]}


def _said(part: JSON) -> JSON:
    kind = part.get("type")
    kept = {key: part[key] for key in ("thoughtSignature",) if key in part}
    if kind == "text":
        return {"text": part.get("content"), **kept}
    if kind == "reasoning":
        return {"text": part.get("content") or "", "thought": True, **kept}
    if kind == "tool_call":
        about = {"name": part.get("name"), "args": argument_object(part.get("arguments"))}
        if part.get("id") is not None:
            about = {"id": part["id"], **about}
        return {"functionCall": about, **kept}
    return {key: value for key, value in part.items() if key != "type"}


def _whole(answer: Answer, asked: Asked) -> JSON:
    known = answer.usage
    usage: JSON = {}
    if "input_tokens" in known or "output_tokens" in known:
        read, said = known.get("input_tokens", 0), known.get("output_tokens", 0)
        thought = known.get("reasoning_tokens", 0)
        usage = {
            "promptTokenCount": read,
            "candidatesTokenCount": max(said - thought, 0),
            "totalTokenCount": read + said,
            **({"thoughtsTokenCount": thought} if thought else {}),
            **(
                {"cachedContentTokenCount": known["cache_read_tokens"]}
                if "cache_read_tokens" in known
                else {}
            ),
        }
    return {
        "candidates": [
            {
                "content": _content(choice),
                "finishReason": finish_of(choice, _REASONS, "STOP", "STOP"),
                "index": place,
            }
            for place, choice in enumerate(answer.choices)
        ],
        **({"usageMetadata": usage} if usage else {}),
        "modelVersion": answer.model,
        "responseId": answer.id,
    }


def _stream(answer: Answer, asked: Asked) -> Iterator[bytes]:
    whole = _whole(answer, asked)
    for place, candidate in enumerate(whole["candidates"]):
        *before, last = candidate["content"]["parts"] or [{"text": ""}]
        for part in before:
            said = {"content": {"role": "model", "parts": [part]}, "index": place}
            yield data({**whole, "candidates": [said]})
        yield data({**whole, "candidates": [{**candidate, "content": {"role": "model", "parts": [last]}}]})


def _refuse(refusal: Refusal) -> JSON:
    if refusal.body is not None:
        return refusal.body if "error" in refusal.body else {"error": refusal.body}
    status = _STATUSES.get(refusal.status, "UNKNOWN")
    return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}


def _as_request(answer: JSON) -> JSON:
    return {"contents": [candidate["content"] for candidate in answer["candidates"]]}


def _instruct(body: JSON, prompt: str) -> None:
    body.pop("system_instruction", None)
    body["systemInstruction"] = {"parts": [{"text": prompt}]}


FORM = Form("gemini", _is_spoken_at, _read, _whole, _stream, _refuse, _as_request, _instruct)
