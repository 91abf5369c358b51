"""The new record of a run that goes another way: what the old record answered, and what was really asked."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import cast

from retrospan.exporter.replay.redacting import Redact, redacted_call
from retrospan.exporter.replay.tools.given import CAME
from retrospan.exporter.replay.wire.answered import Answered
from retrospan.exporter.replay.wire.form import Asked
from retrospan.schemas.bundle.canonical import tool_key, with_keys
from retrospan.schemas.bundle.form import (
    Call,
    CallError,
    Effect,
    Json,
    Message,
    ModelCall,
    RunRecord,
    ToolCall,
)
from retrospan.schemas.bundle.sameness import USUAL

#: Where parameters of the wire have another name than in the canonical form.
_WIRE_NAMES = {"choices": "n"}


class NewRecord:
    """Takes down calls in the order in which they began. Safe for threads."""

    def __init__(self, now: Callable[[], int] = time.time_ns) -> None:
        self._now = now
        self._calls = list[Call]()
        self._failed = dict[str, int]()
        self.draws = list[Mapping[str, Json]]()
        self._lock = Lock()

    def model(self, key: str, request: Asked, outcome: ModelCall | Answered | CallError) -> None:
        """Take down a call of a model: what the old record answered, what was really answered, or how it failed.

        A call that failed and is tried again is one call.
        """
        at = self._now()
        call = ModelCall(
            n=0,
            step=0,
            span_id=None,
            started_at=at,
            ended_at=at,
            model=request.model,
            parameters={**{_WIRE_NAMES.get(name, name): value for name, value in USUAL.items()}, **request.parameters},
            system=({"role": "system", "parts": request.system},) if request.system else (),
            messages=tuple(request.messages),
            tools=tuple(request.tools or ()),
            streamed=request.streamed,
        )  # fmt: skip
        if isinstance(outcome, ModelCall):
            names = (
                "answer",
                "response_id",
                "response_model",
                "finish_reasons",
                "usage",
                "error",
                "provider",
                "operation",
                "tells_rounds",
            )
            call = replace(call, **{name: getattr(outcome, name) for name in names})
        elif isinstance(outcome, Answered):
            call = replace(
                call, answer=outcome.messages, response_id=outcome.id, response_model=outcome.model,
                finish_reasons=outcome.reasons, usage=outcome.usage, tells_rounds=True,
            )  # fmt: skip
        else:
            call = replace(call, error=outcome)
        with self._lock:
            place = self._failed.pop(key, None)
            if place is None:
                place = len(self._calls)
                self._calls.append(call)
            else:
                self._calls[place] = call
            if isinstance(outcome, CallError):
                self._failed[key] = place

    def tool(self, name: str, arguments: Json, call_id: str | None, recorded: ToolCall) -> None:
        """Take down a call of a tool that the old record answered."""
        at = self._now()
        with self._lock:
            self._calls.append(
                replace(
                    recorded,
                    n=0,
                    step=0,
                    span_id=None,
                    started_at=at,
                    ended_at=at,
                    name=name,
                    call_id=call_id,
                    has_arguments=True,
                    arguments=arguments,
                    executed=True,
                    asked_by=None,
                )
            )

    def runs(self, name: str, arguments: Json, call_id: str | None, effect: str) -> None:
        """Take down a call of a tool that is let run; what comes of it is told in the same context: `inside`."""
        at = self._now()
        call = ToolCall(
            n=0, step=0, span_id=None, started_at=at, ended_at=None, name=name, call_id=call_id,
            has_arguments=True, arguments=arguments, effect=cast(Effect, effect), executed=True,
            replayable=False, reason="what it returned is not on record",
        )  # fmt: skip
        with self._lock:
            place = len(self._calls)
            self._calls.append(call)

        def came(result: Json, error: BaseException | None) -> None:
            with self._lock:
                self._calls[place] = replace(
                    call, ended_at=self._now(), has_result=error is None, result=result,
                    error=None if error is None else _error(error), replayable=True, reason="",
                )  # fmt: skip

        CAME.set(came)

    def run(self, before: RunRecord, redact: Redact | None = None) -> RunRecord:
        """Return the run as a record of its own, a descendant of the old one; `redact` is what was taken out of that."""
        with self._lock:
            calls: tuple[Call, ...] = tuple(
                replace(call, n=n, step=n) for n, call in enumerate(self._calls, 1)
            )
        if redact is not None:
            calls = tuple(redacted_call(call, redact) for call in calls)
        models = [call for call in calls if isinstance(call, ModelCall)]
        return RunRecord(
            run_id=os.urandom(16).hex(),
            service_name=before.service_name,
            agent_name=before.agent_name,
            kind=before.kind,
            started_at=calls[0].started_at if calls else None,
            ended_at=self._now(),
            outcome="ok",
            parent_run_id=before.run_id,
            parent_link="replays",
            question=before.question,
            answer=_text(models[-1].answer) if models else None,
            calls=with_keys(_asked_by(calls)),
            draws=tuple(self.draws),
        )


def _error(error: BaseException) -> CallError:
    kind = type(error)
    return CallError(
        type=f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."), message=str(error)
    )


def _text(messages: Sequence[Message] | None) -> str | None:
    parts = [part for each in messages or () for part in cast("list[dict[str, Json]]", each["parts"])]
    texts = [str(part["content"]) for part in parts if part.get("type") == "text"]
    return "".join(texts) if texts else None


def _asked_by(calls: Sequence[Call]) -> list[Call]:
    """Return the calls, those of tools with the model call that asked for them: by the id that it gave, else by what it
    asked for.
    """
    offered, found = list[tuple[int, str | None, str]](), list[Call]()
    for call in calls:
        if isinstance(call, ModelCall):
            offered += [
                (call.n, cast("str | None", part.get("id")), tool_key(str(part.get("name")), part.get("arguments")))
                for each in call.answer or ()
                for part in cast("list[dict[str, Json]]", each["parts"])
                if part.get("type") == "tool_call"
            ]  # fmt: skip
            found.append(call)
            continue
        key = tool_key(call.name, call.arguments)
        taken = next(
            (each for each in offered if (each[1] == call.call_id if call.call_id else each[2] == key)), None
        )
        if taken is None:
            found.append(call)
        else:
            offered.remove(taken)
            found.append(replace(call, asked_by=taken[0], call_id=call.call_id or taken[1]))
    return found
