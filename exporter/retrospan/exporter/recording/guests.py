"""Keeps errors of recording from the agent: each is logged once, and none is raised into it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from retrospan.exporter.delivery.notices import say

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

_SAID: set[str] = set()


def say_once(where: str, error: BaseException) -> None:
    """Log an error while recording, once for each place and kind of error in a process."""
    key = f"{where}: {type(error).__name__}"
    if key not in _SAID and len(_SAID) < 1000:
        _SAID.add(key)
        say(f"{where} could not be recorded; the agent continues; this is logged once", error)


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


def lenient(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function leave out, and log once, arguments that it does not have: what it returns is needed."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            say_once(function.__name__, error)
            places = sum(each.kind is each.POSITIONAL_OR_KEYWORD for each in known.values())
            given = args[:places]
            named = {key: value for key, value in kwargs.items() if key in list(known)[len(given) :]}
            return function(*given, **named)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue]

    return call
