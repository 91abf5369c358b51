"""Bundles of every shape, made by hypothesis, and a small one that tests alter."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st

from retrospan.schemas.bundle.canonical import with_keys
from retrospan.schemas.bundle.form import (
    Bundle,
    CallError,
    CheckpointAt,
    Json,
    Message,
    ModelCall,
    RunRecord,
    StateAt,
    ToolCall,
)

Value = TypeVar("Value")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WORDS = st.sampled_from(["search", "paris", "weather", "x", "é", "日本"])
WHOLE = st.integers(-(2**70), 2**70)
#: No floats that JSON has no number for: they are texts in a file.
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | WHOLE | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)


def text_part(text: str) -> dict[str, Json]:
    return {"type": "text", "content": text}


def call_part(call_id: str, name: str, arguments: Json) -> dict[str, Json]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def response_part(call_id: str, response: Json) -> dict[str, Json]:
    return {"type": "tool_call_response", "id": call_id, "response": response}


def message(role: str, *parts: Json) -> dict[str, Json]:
    return {"role": role, "parts": list(parts)}


PARTS = (
    st.builds(text_part, TEXT)
    | st.builds(call_part, WORDS, WORDS, JSON)
    | st.builds(response_part, WORDS, JSON)
    | st.fixed_dictionaries({"type": st.just("blob"), "content": TEXT, "mime_type": TEXT})
)
MESSAGES: st.SearchStrategy[Message] = st.builds(
    message, st.sampled_from(["system", "user", "assistant", "tool"]), PARTS, PARTS
)
HISTORIES = st.lists(MESSAGES, max_size=6).map(tuple)
TOOLS = st.lists(
    st.fixed_dictionaries({"name": WORDS, "description": TEXT, "parameters": OBJECTS}),
    max_size=3,
).map(tuple)
ERRORS = st.builds(
    CallError, type=TEXT, message=st.none() | TEXT, status_code=st.none() | st.integers(0, 599)
)


def _optional(strategy: st.SearchStrategy[Value]) -> st.SearchStrategy[Value | None]:
    return st.none() | strategy


MOMENTS = _optional(st.integers(0, 2**63))
MODEL_CALLS = st.builds(
    ModelCall,
    n=st.integers(1, 99),
    step=_optional(st.integers(1, 99)),
    span_id=_optional(TEXT),
    started_at=MOMENTS,
    ended_at=MOMENTS,
    agent_name=_optional(TEXT),
    provider=_optional(TEXT),
    operation=_optional(TEXT),
    model=_optional(TEXT),
    response_model=_optional(TEXT),
    parameters=_optional(OBJECTS),
    system=_optional(HISTORIES),
    messages=_optional(HISTORIES),
    tools=_optional(TOOLS),
    answer=_optional(HISTORIES),
    response_id=_optional(TEXT),
    finish_reasons=st.lists(TEXT, max_size=2).map(tuple),
    usage=st.dictionaries(TEXT, st.integers(0, 10**9), max_size=2),
    streamed=_optional(st.booleans()),
    error=_optional(ERRORS),
    key=TEXT,
    replayable=st.booleans(),
    reason=TEXT,
)


def _tool_call(call: ToolCall) -> ToolCall:
    """The call, with nothing where nothing is on record."""
    return replace(
        call,
        arguments=call.arguments if call.has_arguments else None,
        result=call.result if call.has_result else None,
    )


TOOL_CALLS = st.builds(
    ToolCall,
    n=st.integers(1, 99),
    step=_optional(st.integers(1, 99)),
    span_id=_optional(TEXT),
    started_at=MOMENTS,
    ended_at=MOMENTS,
    agent_name=_optional(TEXT),
    name=TEXT,
    call_id=_optional(TEXT),
    has_arguments=st.booleans(),
    arguments=JSON,
    has_result=st.booleans(),
    result=JSON,
    error=_optional(ERRORS),
    effect=st.sampled_from(["none", "read", "write", "destructive", "unknown"]),
    executed=_optional(st.booleans()),
    idempotency_key=_optional(TEXT),
    asked_by=_optional(st.integers(1, 99)),
    key=TEXT,
    replayable=st.booleans(),
    reason=TEXT,
).map(_tool_call)
STATES = st.builds(
    StateAt,
    step=st.integers(1, 99),
    source=_optional(TEXT),
    before=_optional(OBJECTS),
    after=_optional(OBJECTS),
)
CHECKPOINTS = st.builds(
    CheckpointAt,
    checkpoint_id=TEXT,
    parent_id=_optional(TEXT),
    step=_optional(st.integers(1, 99)),
    trigger=_optional(TEXT),
    at=MOMENTS,
)
RUNS = st.builds(
    RunRecord,
    run_id=TEXT,
    service_name=_optional(TEXT),
    agent_name=_optional(TEXT),
    started_at=MOMENTS,
    outcome=_optional(TEXT),
    patch=JSON,
    question=_optional(TEXT),
    dialects=st.lists(TEXT, max_size=2).map(tuple),
    calls=st.lists(MODEL_CALLS | TOOL_CALLS, max_size=5).map(tuple),
    states=st.lists(STATES, max_size=2).map(tuple),
    checkpoints=st.lists(CHECKPOINTS, max_size=2).map(tuple),
    draws=st.lists(OBJECTS, max_size=2).map(tuple),
    checkpoint_records=st.lists(
        st.fixed_dictionaries(dict.fromkeys(("checkpoint_id", "content", "redacted"), TEXT)), max_size=2
    ).map(tuple),
)
BUNDLES = st.builds(
    Bundle,
    made_by=TEXT,
    rules=_optional(TEXT),
    runs=st.lists(RUNS, max_size=3, unique_by=lambda run: run.run_id).map(tuple),
)


def weather_run(run_id: str = "a" * 32) -> RunRecord:
    """An agent that asks for a tool, is given its result, and answers."""
    question = message("user", text_part("How is the weather in Paris?"))
    asks = message("assistant", call_part("call_8f2", "get_weather", {"city": "Paris"}))
    told = message("tool", response_part("call_8f2", {"sky": "clear", "degrees": 21}))
    system = message("system", text_part("Answer in one sentence."))
    tool = {"name": "get_weather", "description": "The weather of a city.", "parameters": {"type": "object"}}

    def model_call(n: int, messages: tuple[Message, ...], answer: Message) -> ModelCall:
        return ModelCall(
            n=n,
            step=n,
            span_id=f"{n:016x}",
            started_at=n * 10**9,
            ended_at=n * 10**9 + 5,
            model="gpt-5",
            parameters={"temperature": 0.5},
            system=(system,),
            messages=messages,
            tools=(tool,),
            answer=(answer,),
        )

    calls = (
        model_call(1, (question,), asks),
        ToolCall(
            n=2,
            step=2,
            span_id=f"{2:016x}",
            started_at=2 * 10**9,
            ended_at=2 * 10**9 + 5,
            name="get_weather",
            call_id="call_8f2",
            has_arguments=True,
            arguments={"city": "Paris"},
            has_result=True,
            result={"sky": "clear", "degrees": 21},
            effect="read",
            executed=True,
            asked_by=1,
        ),
        model_call(3, (question, asks, told), message("assistant", text_part("Clear, 21 degrees."))),
    )
    return RunRecord(run_id=run_id, agent_name="weather", outcome="ok", calls=with_keys(calls))


def weather_bundle() -> Bundle:
    return Bundle(made_by="retrospan 0.1.0", rules="1", runs=(weather_run(),))
