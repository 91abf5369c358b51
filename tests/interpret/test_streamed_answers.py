"""Answers that were streamed and recorded chunk by chunk, as a list of events or as the text of the stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
from weather_question import (
    ANSWER,
    ASKED,
    CALLED,
    GIVEN,
    QUESTION,
    RETURNED,
    SAID,
    SYSTEM,
    TOLD,
    model_span,
    require_whole,
    tool_span,
)

from retrospan.ingest.interpret.spans.chunks import whole_response
from retrospan.ingest.interpret.spans.span import Span

Events = list[dict[str, Any]]
_PIECES = (ANSWER[:7], ANSWER[7:])
_HALVES = (json.dumps(GIVEN)[:6], json.dumps(GIVEN)[6:])


def _as_events(events: Events) -> str:
    return json.dumps(events)


def _as_stream(events: Events) -> str:
    named = (f"event: {each['type']}\n" if "type" in each else "" for each in events)
    lines = (f"{name}data: {json.dumps(each)}\n\n" for name, each in zip(named, events, strict=True))
    return "".join(lines) + "data: [DONE]\n\n"


def _asked(request: dict[str, Any], response: str) -> Span:
    return model_span({"acme.input": json.dumps(request), "acme.output": response})


def _chat(message: dict[str, Any], used: tuple[int, int]) -> Events:
    def chunk(delta: dict[str, Any], end: str | None = None) -> dict[str, Any]:
        return {"id": "r", "model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}

    begun = [chunk({"role": "assistant", "content": None})]
    if message["content"]:
        said = [chunk({"content": piece}) for piece in _PIECES]
    else:
        function = {
            "index": 0,
            "id": "c1",
            "type": "function",
            "function": {"name": "get_weather", "arguments": ""},
        }
        said = [chunk({"tool_calls": [function]})]
        said += [chunk({"tool_calls": [{"index": 0, "function": {"arguments": half}}]}) for half in _HALVES]
    usage = dict(zip(("prompt_tokens", "completion_tokens"), used, strict=True))
    return [*begun, *said, chunk({}, "stop"), {"id": "r", "model": "m-1", "choices": [], "usage": usage}]


def _blocks(message: dict[str, Any], used: tuple[int, int]) -> Events:
    begun = {
        "role": "assistant",
        "model": "m-1",
        "content": [],
        "usage": {"input_tokens": used[0], "output_tokens": 1},
    }
    if message["content"]:
        block: dict[str, Any] = {"type": "text", "text": ""}
        deltas: Events = [{"type": "text_delta", "text": piece} for piece in _PIECES]
    else:
        block = {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": half} for half in _HALVES]
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": used[1]}},
        {"type": "message_stop"},
    ]


@pytest.mark.parametrize("written", [_as_events, _as_stream])
def test_chunks_of_chat_completions(written: Any) -> None:
    first = _asked({"model": "m-1", "messages": ASKED}, written(_chat(CALLED, (10, 2))))
    last = _asked({"model": "m-1", "messages": TOLD}, written(_chat(SAID, (20, 4))))
    require_whole([first, tool_span(), last])


@pytest.mark.parametrize("written", [_as_events, _as_stream])
def test_events_of_anthropics_messages(written: Any) -> None:
    told = [
        {"role": "user", "content": QUESTION},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": GIVEN}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": json.dumps(RETURNED)}],
        },
    ]
    first = _asked(
        {"model": "m-1", "system": SYSTEM, "messages": told[:1]}, written(_blocks(CALLED, (10, 2)))
    )
    last = _asked({"model": "m-1", "system": SYSTEM, "messages": told}, written(_blocks(SAID, (20, 4))))
    require_whole([first, tool_span(), last])


def test_chunks_of_gemini() -> None:
    def chunk(part: dict[str, Any], given: int, made: int) -> dict[str, Any]:
        usage = {"promptTokenCount": given, "candidatesTokenCount": made}
        return {"candidates": [{"content": {"role": "model", "parts": [part]}}], "usageMetadata": usage}

    call = {"functionCall": {"name": "get_weather", "args": GIVEN}}
    result = {"functionResponse": {"name": "get_weather", "response": RETURNED}}
    told = [
        {"role": "user", "parts": [{"text": QUESTION}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [result]},
    ]
    system = {"parts": [{"text": SYSTEM}]}
    first = _asked({"systemInstruction": system, "contents": told[:1]}, json.dumps([chunk(call, 10, 2)]))
    answer = [chunk({"text": piece}, 20, place + 3) for place, piece in enumerate(_PIECES)]
    last = _asked({"systemInstruction": system, "contents": told}, json.dumps(answer))
    require_whole([first, tool_span(), last], call_id=None)


def test_lines_of_ollama() -> None:
    call = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "get_weather", "arguments": GIVEN}}],
    }
    end = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    first = [{"message": call, "done": False}, {**end, "prompt_eval_count": 10, "eval_count": 2}]
    said = [{"message": {"role": "assistant", "content": piece}, "done": False} for piece in _PIECES]
    last = [*said, {**end, "prompt_eval_count": 20, "eval_count": 4}]
    told = [*ASKED, call, {"role": "tool", "content": json.dumps(RETURNED)}]
    require_whole(
        [
            _asked({"model": "m-1", "messages": ASKED}, json.dumps(first)),
            tool_span(),
            _asked({"model": "m-1", "messages": told}, json.dumps(last)),
        ],
        call_id=None,
    )


def test_events_of_converse() -> None:
    call = {"toolUse": {"toolUseId": "c1", "name": "get_weather"}}
    events = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "I look"}}},
        {"contentBlockStart": {"contentBlockIndex": 1, "start": call}},
        *(
            {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": half}}}}
            for half in _HALVES
        ),
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"inputTokens": 10, "outputTokens": 2}}},
    ]
    used = {"toolUse": {"toolUseId": "c1", "name": "get_weather", "input": GIVEN}}
    message = {"role": "assistant", "content": [{"text": "I look"}, used]}
    usage = {"inputTokens": 10, "outputTokens": 2}
    assert whole_response(events) == {
        "output": {"message": message},
        "stopReason": "tool_use",
        "usage": usage,
    }


def test_the_stream_of_responses_ends_with_all_of_it() -> None:
    response = {"id": "r", "output": [{"type": "message", "role": "assistant", "content": []}]}
    events = [
        {"type": "response.created", "response": {}},
        {"type": "response.completed", "response": response},
    ]
    assert whole_response(events) == response


@pytest.mark.parametrize(
    "value",
    [
        [],
        [{"role": "user", "content": "data: {}"}],
        "data: not JSON",
        "data: ",
        [{"type": "response.created", "response": {}}],
        [{"choices": [{"index": 0, "delta": {}}, {"index": 1, "delta": {}}]}],
        [{"candidates": [{}, {}]}],
    ],
    ids=str,
)
def test_what_is_no_stream_or_holds_several_answers_stays_as_it_is(value: object) -> None:
    assert whole_response(value) is value
