"""`deterministic()`: what a block of plain code draws from outside is recorded with its run, and given back when the
run is replayed.
"""

from __future__ import annotations

import functools
import json
import os
import random
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from threading import Lock
from types import CodeType, TracebackType
from typing import Any, Self

from opentelemetry import trace

from retrospan.exporter.recording.draws import Draws
from retrospan.exporter.recording.guests import guest, say_once
from retrospan.exporter.recording.spanning import tracer
from retrospan.schemas.attributes import DRAWS

_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_STANDARD = (os.path.dirname(os.__file__) + os.sep, "<frozen")
_OURS = f"{os.sep}retrospan{os.sep}exporter{os.sep}"
_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns")
_RANDOM = (
    "betavariate", "choice", "choices", "expovariate", "gammavariate", "gauss", "getrandbits", "lognormvariate",
    "normalvariate", "paretovariate", "randbytes", "randint", "random", "randrange", "sample", "seed", "shuffle",
    "triangular", "uniform", "vonmisesvariate", "weibullvariate",
)  # fmt: skip


class _Blocks:
    """The blocks under way. A thread that a block started finds it if it is the only one."""

    lock = Lock()
    every: tuple[Deterministic, ...] = ()
    here: ContextVar[Deterministic | None] = ContextVar("retrospan-deterministic", default=None)
    is_installed = False


def deterministic(
    *, clock: bool = True, ids: bool = True, numbers: bool = True, urandom: bool = False
) -> Deterministic:
    """Record what the program's own code draws in a block: `with deterministic(): …`.

    It goes on the current span, or on one of its own where there is none. Clocks (`time.time`, `time.monotonic` and
    their `_ns`), `uuid.uuid4` and `uuid.uuid1` are recorded value by value; the functions of the module `random` draw
    from a seed that is recorded. In a replay of the run the values are given back. Installed packages draw as always.
    It never raises into the block.

    Args:
        clock: Whether clocks are recorded.
        ids: Whether uuids are.
        numbers: Whether random numbers are.
        urandom: Whether `os.urandom` is: whoever can read the record can read what it made, such as keys.
    """
    return Deterministic({"time": clock, "uuid": ids, "random": numbers, "os": urandom})


class Deterministic:
    """A block whose draws are recorded; what `deterministic(...)` returns."""

    def __init__(self, kinds: Mapping[str, bool]) -> None:
        self._kinds = kinds
        self._span: Any = None
        self._opened: Any = None
        self._token: Token[Deterministic | None] | None = None
        self._replaying: Any = None
        self.draws = Draws()

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    @guest(None)
    def _begin(self) -> None:
        _install()
        self._replaying = _replaying()
        if self._replaying is not None:
            self.draws = Draws(self._replaying.next_draws())
        self._span = trace.get_current_span()
        if not self._span.is_recording():
            self._opened = tracer().start_as_current_span("deterministic")
            self._span = self._opened.__enter__()
        with _Blocks.lock:
            _Blocks.every = (*_Blocks.every, self)
        self._token = _Blocks.here.set(self)

    @guest(None)
    def _end(self) -> None:
        with _Blocks.lock:
            _Blocks.every = tuple(each for each in _Blocks.every if each is not self)
        try:
            if self._token is not None:
                _Blocks.here.reset(self._token)
        finally:
            try:
                told = self.draws.told()
                if self._replaying is not None:
                    self._replaying.drew(told)
                if self._span is not None:
                    self._span.set_attribute(DRAWS, json.dumps(told, separators=(",", ":")))
            finally:
                if self._opened is not None:
                    self._opened.__exit__(None, None, None)

    def covers(self, module: str) -> bool:
        return self._kinds[module]


def _replaying() -> Any:
    """Return the replay under way; nothing of it is loaded where there is none."""
    module = sys.modules.get("retrospan.exporter.replay.current")
    return None if module is None else module.current()


def _block(module: str) -> Deterministic | None:
    every = _Blocks.every
    if not every:
        return None
    found = _Blocks.here.get()
    # One that ended is still there in a context that was copied from its own.
    if found is None or found not in every:
        found = every[0] if len(every) == 1 else None
    return found if found is not None and found.covers(module) else None


@functools.lru_cache(4096)
def _is_own(code: CodeType) -> bool:
    """Tell whether code is the program's own, and not of an installed package, of Python or of this one."""
    file = code.co_filename
    return not (file.startswith(_STANDARD) or _OURS in file or any(each in file for each in _PACKAGES))


def _place(name: str) -> str | None:
    """Return who calls, and what; None for a call that is not the program's own."""
    frame = sys._getframe(2)
    if not _is_own(frame.f_code):
        return None
    return f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname} {name}"


def _drawing(
    module: Any, name: str, told: Callable[[Any], Any], back: Callable[[Any], Any]
) -> Callable[..., Any]:
    original = getattr(module, name)
    called = f"{module.__name__}.{name}"

    @functools.wraps(original)
    def draw(*args: Any, **named: Any) -> Any:
        block = _block(module.__name__)
        place = None if block is None else _place(called)
        if block is None or place is None:
            return original(*args, **named)
        real = list[Any]()

        def drawn() -> Any:
            real.append(original(*args, **named))
            return real[-1]

        try:
            return block.draws.draw(place, drawn, told, back)
        except Exception as error:  # noqa: BLE001 - a guest
            if not real:
                # It is the original's own, or ours before it drew.
                say_once("deterministic", error)
                return original(*args, **named)
            say_once("deterministic", error)
            return real[-1]

    return draw


def _numbers(name: str) -> Callable[..., Any]:
    original = getattr(random, name)

    @functools.wraps(original)
    def draw(*args: Any, **named: Any) -> Any:
        block = _block("random")
        place = None if block is None else _place(f"random.{name}")
        if block is None or place is None:
            return original(*args, **named)
        return getattr(block.draws.draw_random(place), name)(*args, **named)

    return draw


def _install() -> None:
    """Put ourselves around the functions, once, also under the names that the program's modules imported them by."""
    with _Blocks.lock:
        if _Blocks.is_installed:
            return
        _Blocks.is_installed = True
    made = list[tuple[Any, str, Any]]()
    made += [(time, name, _drawing(time, name, _same, _clock(name))) for name in _CLOCKS]
    made += [(uuid, name, _drawing(uuid, name, str, uuid.UUID)) for name in ("uuid4", "uuid1")]
    made += [(os, "urandom", _drawing(os, "urandom", bytes.hex, bytes.fromhex))]
    made += [(random, name, _numbers(name)) for name in _RANDOM if hasattr(random, name)]
    by_original = {id(getattr(module, name)): wrapper for module, name, wrapper in made}
    originals = [getattr(module, name) for module, name, _ in made]
    for module, name, wrapper in made:
        setattr(module, name, wrapper)
    for loaded in [*sys.modules.values()]:
        file = getattr(loaded, "__file__", None) or "<frozen"
        if file.startswith(_STANDARD) or _OURS in file or any(each in file for each in _PACKAGES):
            continue
        for name, value in [*vars(loaded).items()]:
            if id(value) in by_original and any(value is each for each in originals):
                setattr(loaded, name, by_original[id(value)])


def _same(value: Any) -> Any:
    return value


def _clock(name: str) -> Callable[[Any], Any]:
    kind = int if name.endswith("_ns") else float

    def back(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{value!r} is not a time")
        return kind(value)

    return back
