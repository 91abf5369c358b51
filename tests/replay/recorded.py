"""A recorded run of two model calls and one tool call, and what an agent does that made it."""

from __future__ import annotations

from typing import Any

from retrospan.schemas.bundle.canonical import with_keys
from retrospan.schemas.bundle.form import Bundle, CallError, Effect, ModelCall, RunRecord, ToolCall

AT = 1_760_000_000_000_000_000
SYSTEM = "You are Orla."
QUESTION = "What is the weather in Oslo?"
ANSWER = "It is -3 °C in Oslo ☃."


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def asks(call_id: str, name: str, **arguments: object) -> dict[str, Any]:
    part = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def tells(call_id: str, response: object) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": response}]}


def model_call(
    n: int, messages: list[dict[str, Any]], answer: dict[str, Any] | None, **more: Any
) -> ModelCall:
    return ModelCall(
        n=n,
        step=more.pop("step", n),
        span_id=f"{n:016x}",
        started_at=AT + n,
        ended_at=AT + n,
        model="gpt-4o-mini",
        response_model="gpt-4o-mini-2024-07-18",
        system=(text("system", SYSTEM),),
        messages=tuple(messages),
        answer=None if answer is None else (answer,),
        **more,
    )


def tool_call(
    n: int, name: str, arguments: object, result: object, call_id: str | None = None, **more: Any
) -> ToolCall:
    return ToolCall(
        n=n,
        step=more.pop("step", n),
        span_id=f"{n:016x}",
        started_at=AT + n,
        ended_at=AT + n,
        name=name,
        call_id=call_id,
        has_arguments=True,
        arguments=arguments,
        has_result="error" not in more,
        result=result,
        **more,
    )


def bundle(*calls: ModelCall | ToolCall, run_id: str = "run-1") -> Bundle:
    return Bundle(made_by="a test", rules=None, runs=(RunRecord(run_id=run_id, calls=with_keys(calls)),))


def weather_bundle(effect: Effect = "read", answer: str = ANSWER, told: object = None) -> Bundle:
    """The run: the model asks for the weather, the tool tells it, the model answers. `told` is the result as the model got it."""
    asked = [text("user", QUESTION)]
    return bundle(
        model_call(1, asked, asks("call_1", "get_weather", city="Oslo"), finish_reasons=("tool_calls",)),
        tool_call(2, "get_weather", {"city": "Oslo"}, {"temp_c": -3}, "call_1", effect=effect),
        model_call(
            3,
            [*asked, asks("call_1", "get_weather", city="Oslo"), tells("call_1", told or {"temp_c": -3})],
            text("assistant", answer),
            usage={"input_tokens": 50, "output_tokens": 9},
        ),
    )


REFUSED = CallError(
    type="openai.BadRequestError",
    message="Error code: 400 - {'error': {'message': 'too long', 'code': 'context_length_exceeded'}}",
)
