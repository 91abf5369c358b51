"""An agent that is killed while it writes for the third time, as far as it told before."""

from __future__ import annotations

import json
from typing import Any

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from telling import SECOND, Fact, Told

from retrospan.schemas import attributes as names

PROCESS = "ab" * 8
RUN = "nightly-7"
BEGAN = 1_790_000_000 * SECOND


def span(number: int, seconds: float, said: dict[str, Any], **more: Any) -> Told:
    made: dict[str, Any] = {
        "number": number,
        "name": str(said.get("gen_ai.operation.name", f"step {number}")),
        "at": BEGAN + int(seconds * SECOND),
        "until": BEGAN + int((seconds + 1) * SECOND),
        "parent": 1 if number > 1 else 0,
        "said": said,
        "run_id": RUN,
        "process": PROCESS,
    }
    return Told(**{**made, **more})


def agent(**more: Any) -> Told:
    said = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "clerk",
        "gen_ai.conversation.id": "c1",
        "gen_ai.input.messages": json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": "check the orders"}]}]
        ),
        names.RUN_ORIGIN: RUN,
    }
    return span(1, 0, {**said, **more.pop("said", {})}, **more)


def write(number: int, seconds: float, key: str, status: str = "", **more: Any) -> Told:
    said = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "send",
        "gen_ai.tool.call.arguments": json.dumps({"to": key}),
        names.EFFECT: "write",
        names.IDEMPOTENCY_KEY: key,
        **({names.EFFECT_STATUS: status} if status else {}),
    }
    return span(number, seconds, said, **more)


def observed(at: float, number: int) -> Fact:
    said = {
        names.ENTITY_TYPE: "order",
        names.ENTITY_ID: str(number),
        names.CHANGES: json.dumps({"state": f"seen {number}"}),
    }
    return Fact(name=names.OBSERVATION, at=BEGAN + int(at * SECOND), said=said, event_id=f"{number:016x}")


def said_before_it_died() -> tuple[list[Told], list[LogRecord]]:
    """Return the spans that ended, and all log records, of an agent that was killed while it wrote for the third time."""
    step = {names.STEP_NAME: "check", names.STEP_INDEX: 1, names.STATE_BEFORE: '{"checked":0}'}
    first = span(2, 1, step, more={names.STATE_AFTER: '{"checked":2}'})
    following = span(
        3, 3, {**step, names.STEP_NAME: "mend", names.STEP_INDEX: 2, names.STATE_BEFORE: '{"checked":2}'}
    )
    done = [first, write(4, 1.2, "a", parent=2), write(5, 1.6, "b", parent=2)]
    cut = write(6, 3.5, "c", "planned", parent=3)
    root = agent()
    logs = [one.begun() for one in (root, first, following, *done[1:], cut)]
    logs += [observed(1.1 + number / 100, number).as_log(first) for number in range(20)]
    return done, logs
