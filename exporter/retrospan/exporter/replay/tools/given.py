"""What a tool returns that is answered from the record: the recorded value, or the recorded error."""

from __future__ import annotations

import ast
import builtins
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar, cast

from retrospan.schemas.bundle.form import CallError, Json, ToolCall

#: Whether a tool that was let run is running: what it calls in turn is its own.
_RUNNING: ContextVar[bool] = ContextVar("retrospan-replay-tool", default=False)
#: Takes what came of the tool that this context is about to run: its result, or its error.
CAME: ContextVar[Callable[[Json, BaseException | None], None] | None] = ContextVar(
    "retrospan-replay-came", default=None
)
_SAME = object()
#: An error as Python prints it for programmers, which LangSmith records: RecordLocked('it is locked') and where it was
#: raised.
_REPR = re.compile(r"""([A-Za-z_][\w.]{0,200})\((["'].{0,5000}["']),?\)(?:\s|$)""")
Value = TypeVar("Value")


class RecordedError(Exception):
    """A tool failed when the run was recorded, with an error whose class this process does not have."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def value_of(call: ToolCall, *, result_first: bool = False) -> Json:
    """Return the recorded result.

    Raises the recorded error where there is one; with `result_first` only where there is no result: the boundary is one
    at which errors are text already. An error of a class that is not known here is raised only where the record does
    not hold what the model was told of it.
    """
    if call.error is None or (result_first and call.has_result):
        return call.result
    found = error_of(call.error)
    if call.has_result and isinstance(found, RecordedError):
        return call.result
    raise found


def error_of(error: CallError) -> Exception:
    """Return an error of the recorded class, which the agent may catch by its name, with the recorded message."""
    kind, message = error.type or "", error.message or ""
    if kind in ("", "Exception") and (told := _REPR.match(message)) and _class_of(told[1]) is not None:
        kind, message = told[1], _argument(told[2])
    found = _class_of(kind)
    if found is None:
        return RecordedError(kind, message)
    try:
        made = found(message)
    except Exception:  # noqa: BLE001 - its constructor wants more than a message
        made = found.__new__(found)
        made.args = (message,)
    return made


def _argument(text: str) -> str:
    """Return the first argument of a printed error."""
    try:
        return str(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _class_of(kind: str) -> type[Exception] | None:
    """Return the class of an error: by module and name, else the only one of that name."""
    module, _, name = kind.rpartition(".")
    for place in (sys.modules.get(module), builtins):
        # Not by getattr: a module may answer that by loading others, and the name is one that somebody sent.
        found = vars(place).get(name) if place is not None else None
        if isinstance(found, type) and issubclass(found, Exception):
            return found
    named = {found for found in _below(Exception) if found.__name__ == name}
    return named.pop() if len(named) == 1 else None


def _below(top: type[Exception]) -> Iterator[type[Exception]]:
    waiting, seen = [top], {top}
    while waiting:
        for found in type.__subclasses__(waiting.pop()):
            if found not in seen:
                seen.add(found)
                waiting.append(found)
                yield found


def as_json(value: object) -> Json:
    """Return an argument as JSON has it; what JSON does not have as text."""
    try:
        return cast(Json, json.loads(json.dumps(value, default=_opened, ensure_ascii=False)))
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _opened(value: Any) -> object:
    if hasattr(value, "model_dump"):
        return cast(object, value.model_dump(mode="json"))
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, set | frozenset | tuple):
        return [*cast("set[object]", value)]
    return str(value)


def is_inside() -> bool:
    """Tell whether this is called by a tool that was let run."""
    return _RUNNING.get()


class _Inside:
    """A tool that runs; called with what it returned, which is taken down where a new record is made."""

    def __init__(self) -> None:
        self._came = CAME.get()
        CAME.set(None)

    def __call__(self, value: Value, result: object = _SAME) -> Value:
        """Return the value; `result` is what the model is told of it, where that is something else."""
        if self._came is not None:
            self._came(as_json(value if result is _SAME else result), None)
        return value

    def failed(self, error: Exception) -> None:
        if self._came is not None:
            self._came(None, error)


@contextmanager
def inside() -> Iterator[_Inside]:
    """Let what a tool calls in turn run as well."""
    token, running = _RUNNING.set(True), _Inside()
    try:
        yield running
    except Exception as error:
        running.failed(error)
        raise
    finally:
        _RUNNING.reset(token)
