"""A guest's manners: errors while recording are logged once and never reach the agent."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

_LOG = logging.getLogger("retrospan.exporter")
_SAID: set[str] = set()


def say_once(where: str, error: BaseException) -> None:
    """Log an error while recording, once for each place and kind of error in a process."""
    key = f"{where}: {type(error).__name__}"
    if key not in _SAID and len(_SAID) < 1000:
        _SAID.add(key)
        _LOG.warning(
            "%s could not be recorded; the agent continues; this is logged once", where, exc_info=error
        )


def guest(instead: S) -> Callable[[Callable[P, R]], Callable[P, R | S]]:
    """Make a function return `instead` where it would raise."""

    def around(function: Callable[P, R]) -> Callable[P, R | S]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R | S:
            try:
                return function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - a guest
                say_once(function.__name__, error)
                return instead

        return call

    return around
