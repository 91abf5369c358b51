"""The replay that is under way in this process. There is one at most: a replay inside a replay is refused."""

from __future__ import annotations

from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING

from retrospan.schemas.errors import ConfigError

if TYPE_CHECKING:
    from retrospan.exporter.replay.guard import Guard
    from retrospan.exporter.replay.replaying import Replaying

#: Whether a question is asked that the replay itself asks.
ASKING: ContextVar[bool] = ContextVar("retrospan-replay-asking", default=False)


class _Current:
    lock = Lock()
    replaying: Replaying | None = None
    guard: Guard | None = None


def begin(replaying: Replaying, guard: Guard) -> None:
    """Make this the replay under way. Raises ConfigError if there is one already."""
    with _Current.lock:
        if _Current.replaying is not None:
            runs = ", ".join(_Current.replaying.report.run_ids)
            raise ConfigError(
                f"a replay of {runs} is under way in this process: end it before another one begins."
            )
        _Current.replaying, _Current.guard = replaying, guard


def end() -> None:
    """Leave no replay under way."""
    with _Current.lock:
        _Current.replaying = _Current.guard = None


def current() -> Replaying | None:
    """Return the replay under way."""
    return _Current.replaying


def guard() -> Guard | None:
    """Return what keeps the agent in."""
    return _Current.guard


def admit(host: str) -> None:
    """Let connections to a host out: a call to it is to be made."""
    if _Current.guard is not None:
        _Current.guard.admit(host)
