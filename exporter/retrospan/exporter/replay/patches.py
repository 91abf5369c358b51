"""Functions of clients and frameworks that a replay puts itself around. Each stays in place, and does nothing without a replay under way."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

#: Takes the original function, then its arguments.
Around = Callable[..., Any]
_DONE: set[tuple[int, str]] = set()


def patch(owner: Any, name: str, around: Around) -> Any:
    """Put a function around `owner.name`, once; return the new one, None where it was there already.

    Raises:
        AttributeError: there is no such function, in this version.
    """
    key = (id(owner), name)
    if key in _DONE:
        return None
    original = getattr(owner, name)

    @functools.wraps(original)
    def call(*args: Any, **named: Any) -> Any:
        return around(original, *args, **named)

    setattr(owner, name, call)
    _DONE.add(key)
    return call


def patch_async(owner: Any, name: str, around: Around) -> Any:
    """Do the same with a coroutine function, which stays one for whoever asks."""
    key = (id(owner), name)
    if key in _DONE:
        return None
    original = getattr(owner, name)

    @functools.wraps(original)
    async def call(*args: Any, **named: Any) -> Any:
        return await around(original, *args, **named)

    setattr(owner, name, call)
    _DONE.add(key)
    return call
