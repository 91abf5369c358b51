"""What a bundle holds: runs with every call that they made, and what each call was asked and answered.

`container` writes and reads the file. In memory bodies stand in their places; in the file each stands once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from retrospan.schemas.bundle import json_values

Json = json_values.Json
Message = json_values.Message
Effect = Literal["none", "read", "write", "destructive", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallError:
    """How a call failed. The status code is that of HTTP, where it is on record."""

    type: str | None = None
    message: str | None = None
    status_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to a model and its answer.

    None is unknown: what is not on record is not compared. `reason` is '' or why the call cannot be answered from the
    record.
    """

    n: int
    step: int | None
    span_id: str | None
    started_at: int | None
    ended_at: int | None
    agent_name: str | None = None
    provider: str | None = None
    operation: str | None = None
    model: str | None = None
    response_model: str | None = None
    parameters: Mapping[str, Json] | None = None
    system: tuple[Message, ...] | None = None
    messages: tuple[Message, ...] | None = None
    tools: tuple[Json, ...] | None = None
    answer: tuple[Message, ...] | None = None
    response_id: str | None = None
    finish_reasons: tuple[str, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    streamed: bool | None = None
    tells_rounds: bool | None = None
    """True where the record tells what the client asked by itself before this, or that it was nothing: in the response,
    or as each request was taken down.
    """
    error: CallError | None = None
    key: str = ""
    replayable: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool and what it returned.

    A null argument or result is JSON's null only if `has_arguments` or `has_result` says that it is on record.
    """

    n: int
    step: int | None
    span_id: str | None
    started_at: int | None
    ended_at: int | None
    agent_name: str | None = None
    name: str
    call_id: str | None = None
    has_arguments: bool = False
    arguments: Json = None
    has_result: bool = False
    result: Json = None
    error: CallError | None = None
    effect: Effect = "unknown"
    executed: bool | None = None
    idempotency_key: str | None = None
    asked_by: int | None = None
    key: str = ""
    replayable: bool = True
    reason: str = ""


Call = ModelCall | ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class StateAt:
    """What the agent knew around a step; None where that is not known."""

    step: int
    source: str | None
    before: Mapping[str, Json] | None
    after: Mapping[str, Json] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointAt:
    """A point that the run can be resumed from."""

    checkpoint_id: str
    parent_id: str | None
    step: int | None
    trigger: str | None
    at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run with its calls, in the order of their start."""

    run_id: str
    service_name: str | None = None
    service_version: str | None = None
    agent_name: str | None = None
    agent_version: str | None = None
    conversation_id: str | None = None
    kind: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    outcome: str | None = None
    incomplete_because: str | None = None
    parent_run_id: str | None = None
    parent_link: str | None = None
    fork_step: int | None = None
    patch: Json = None
    question: str | None = None
    answer: str | None = None
    dialects: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    states: tuple[StateAt, ...] = ()
    checkpoints: tuple[CheckpointAt, ...] = ()
    draws: tuple[Mapping[str, Json], ...] = ()
    """What each block under `deterministic()` drew from outside: its seed, and values by place."""
    checkpoint_records: tuple[Mapping[str, Json], ...] = ()
    """What checkpoints hold, as the hook recorded it: `checkpoint_id`, `content` and `redacted`. Only where it was
    asked for.
    """

    def model_calls(self) -> tuple[ModelCall, ...]:
        """Return the calls of models alone."""
        return tuple(call for call in self.calls if isinstance(call, ModelCall))

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls of tools alone."""
        return tuple(call for call in self.calls if isinstance(call, ToolCall))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Runs, and what made the bundle of them: a release, and a version of the interpretation."""

    made_by: str
    rules: str | None
    runs: tuple[RunRecord, ...]

    def run(self, run_id: str) -> RunRecord | None:
        """Return the run of that id, or None."""
        return next((run for run in self.runs if run.run_id == run_id), None)
