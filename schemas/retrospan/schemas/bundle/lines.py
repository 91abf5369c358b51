"""Calls and states as lines of a bundle, and back. A line names its bodies by their hashes.

The messages of a model call often begin with those of an earlier one: the list then begins with {"of_call": n, "first":
k}, and a long conversation takes as many names as it has messages, not its square.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import cast, get_args

from retrospan.schemas.bundle.bodies import BodyReader, BodyWriter
from retrospan.schemas.bundle.fields import Fields, is_whole
from retrospan.schemas.bundle.form import (
    Call,
    CallError,
    CheckpointAt,
    Effect,
    Json,
    Message,
    ModelCall,
    StateAt,
    ToolCall,
)
from retrospan.schemas.errors import BundleDamaged

#: Shorter beginnings are written out.
_WORTH_NAMING = 3
#: Messages of the calls of a run together: histories that name histories can be made longer than any memory.
_MOST_MESSAGES = 50_000_000


class LineWriter:
    """Writes the calls of one run in order."""

    def __init__(self, bodies: BodyWriter) -> None:
        self._bodies = bodies
        self._latest = dict[str, tuple[int, list[str]]]()

    def of_call(self, call: Call) -> dict[str, Json]:
        """Return the line of a call."""
        line: dict[str, Json] = {
            name: getattr(call, name)
            for name in call.__slots__
            if name not in ("error", "has_arguments", "has_result")
        }
        line["error"] = None if call.error is None else asdict(call.error)
        if isinstance(call, ModelCall):
            line["kind"] = "model"
            line["parameters"] = None if call.parameters is None else dict(call.parameters)
            line["system"] = self._names(call.system)
            line["messages"] = self._history(call)
            line["tools"] = None if call.tools is None else self._bodies.name(call.tools)
            line["answer"] = self._names(call.answer)
            line["usage"] = dict(call.usage)
        else:
            line["kind"] = "tool"
            line["arguments"] = self._bodies.name(call.arguments) if call.has_arguments else None
            line["result"] = self._bodies.name(call.result) if call.has_result else None
        return line

    def _names(self, messages: Sequence[Message] | None) -> Json:
        return None if messages is None else [self._bodies.name(each) for each in messages]

    def _history(self, call: ModelCall) -> Json:
        if call.messages is None:
            return None
        names = [self._bodies.name(each) for each in call.messages]
        if not names:
            return []
        n, before = self._latest.get(names[0], (0, []))
        self._latest[names[0]] = call.n, names
        same = 0
        for one, other in zip(before, names, strict=False):
            if one != other:
                break
            same += 1
        if same < _WORTH_NAMING:
            return list[Json](names)
        return [{"of_call": n, "first": same}, *names[same:]]


class LineReader:
    """Reads the calls of one run in order."""

    def __init__(self, bodies: BodyReader) -> None:
        self._bodies = bodies
        self._histories = dict[int, tuple[Message, ...]]()
        self._messages_read = 0

    def call(self, fields: Fields) -> Call:
        """Return the call of a line. Raises BundleDamaged."""
        kind = fields.text("kind")
        if kind == "model":
            return self._model_call(fields)
        if kind == "tool":
            return self._tool_call(fields)
        raise fields.refuse("kind", "model or tool")

    def _model_call(self, fields: Fields) -> ModelCall:
        messages = self._messages(fields, "messages")
        n = fields.whole("n")
        if messages is not None:
            self._histories[n] = messages
        tools = self._body_or_none(fields, "tools")
        if not (tools is None or isinstance(tools, list)):
            raise fields.refuse("tools", "the name of a list")
        usage = fields.object_or_none("usage") or {}
        return ModelCall(
            n=n,
            step=fields.whole_or_none("step"),
            span_id=fields.text_or_none("span_id"),
            started_at=fields.whole_or_none("started_at"),
            ended_at=fields.whole_or_none("ended_at"),
            agent_name=fields.text_or_none("agent_name"),
            provider=fields.text_or_none("provider"),
            operation=fields.text_or_none("operation"),
            model=fields.text_or_none("model"),
            response_model=fields.text_or_none("response_model"),
            parameters=fields.object_or_none("parameters"),
            system=self._messages(fields, "system"),
            messages=messages,
            tools=None if tools is None else tuple(cast("list[Json]", tools)),
            answer=self._messages(fields, "answer"),
            response_id=fields.text_or_none("response_id"),
            finish_reasons=fields.texts("finish_reasons"),
            usage={name: value for name, value in usage.items() if is_whole(value)},
            streamed=fields.truth_or_none("streamed"),
            tells_rounds=fields.truth_or_none("tells_rounds"),
            error=_error(fields),
            key=fields.text("key"),
            replayable=fields.truth("replayable"),
            reason=fields.text("reason"),
        )

    def _tool_call(self, fields: Fields) -> ToolCall:
        effect = fields.text("effect")
        if effect not in get_args(Effect):
            raise fields.refuse("effect", f"one of {', '.join(get_args(Effect))}")
        return ToolCall(
            n=fields.whole("n"),
            step=fields.whole_or_none("step"),
            span_id=fields.text_or_none("span_id"),
            started_at=fields.whole_or_none("started_at"),
            ended_at=fields.whole_or_none("ended_at"),
            agent_name=fields.text_or_none("agent_name"),
            name=fields.text("name"),
            call_id=fields.text_or_none("call_id"),
            has_arguments=fields.values.get("arguments") is not None,
            arguments=self._body_or_none(fields, "arguments"),
            has_result=fields.values.get("result") is not None,
            result=self._body_or_none(fields, "result"),
            error=_error(fields),
            effect=cast(Effect, effect),
            executed=fields.truth_or_none("executed"),
            idempotency_key=fields.text_or_none("idempotency_key"),
            asked_by=fields.whole_or_none("asked_by"),
            key=fields.text("key"),
            replayable=fields.truth("replayable"),
            reason=fields.text("reason"),
        )

    def _body_or_none(self, fields: Fields, name: str) -> Json:
        digest = fields.text_or_none(name)
        return None if digest is None else self._bodies.value(digest)

    def _messages(self, fields: Fields, name: str) -> tuple[Message, ...] | None:
        if fields.values.get(name) is None:
            return None
        items, found = fields.items(name), list[Message]()
        if items and not isinstance(items[0], str):
            found += self._beginning(Fields(items.pop(0), fields.member))
        for item in items:
            if not isinstance(item, str):
                raise BundleDamaged(
                    f"{fields.member}: {name} goes on with something that is not a name.",
                    member=fields.member,
                )
            found.append(_message(self._bodies.value(item), fields))
        self._messages_read += len(found)
        if self._messages_read > _MOST_MESSAGES:
            raise BundleDamaged(
                f"{fields.member}: the calls have more than {_MOST_MESSAGES:,} messages.",
                member=fields.member,
            )
        return tuple(found)

    def _beginning(self, reference: Fields) -> Sequence[Message]:
        n, first = reference.whole("of_call"), reference.whole("first")
        before = self._histories.get(n, ())
        if not 0 <= first <= len(before):
            raise BundleDamaged(
                f"{reference.member}: a call begins with {first} messages of call {n}, which has {len(before)}.",
                member=reference.member,
            )
        return before[:first]


def _message(value: Json, fields: Fields) -> Message:
    if (
        isinstance(value, Mapping)
        and isinstance(value.get("role"), str)
        and isinstance(value.get("parts"), list)
    ):
        return value
    raise BundleDamaged(f"{fields.member}: a message has no role or no parts.", member=fields.member)


def _error(fields: Fields) -> CallError | None:
    found = fields.object_or_none("error")
    if found is None:
        return None
    inner = Fields(found, fields.member)
    return CallError(
        type=inner.text_or_none("type"),
        message=inner.text_or_none("message"),
        status_code=inner.whole_or_none("status_code"),
    )


def state_line(state: StateAt, bodies: BodyWriter) -> dict[str, Json]:
    """Return the line of a state."""
    return {
        "step": state.step,
        "source": state.source,
        "before": None if state.before is None else bodies.name(state.before),
        "after": None if state.after is None else bodies.name(state.after),
    }


def state_of(fields: Fields, bodies: BodyReader) -> StateAt:
    """Return the state of a line. Raises BundleDamaged."""

    def known(name: str) -> Mapping[str, Json] | None:
        digest = fields.text_or_none(name)
        value = None if digest is None else bodies.value(digest)
        if not (value is None or isinstance(value, Mapping)):
            raise fields.refuse(name, "the name of an object")
        return value

    return StateAt(
        step=fields.whole("step"),
        source=fields.text_or_none("source"),
        before=known("before"),
        after=known("after"),
    )


def checkpoint_of(fields: Fields) -> CheckpointAt:
    """Return the checkpoint of a line. Raises BundleDamaged."""
    return CheckpointAt(
        checkpoint_id=fields.text("checkpoint_id"),
        parent_id=fields.text_or_none("parent_id"),
        step=fields.whole_or_none("step"),
        trigger=fields.text_or_none("trigger"),
        at=fields.whole_or_none("at"),
    )
