"""Functions of clients and frameworks that a replay puts itself around. Each stays in place, and does nothing without a
replay under way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

#: Takes the original function, then its arguments.
Around = Callable[..., Any]
#: On the functions that are there already: classes come and go, and the next one may have the id of one that is gone.
_MARK = "__retrospan_replay__"


def patch(owner: Any, name: str, around: Around) -> Any:
    """Put a function around `owner.name`, once; return the new one, None where it was there already.

    Raises:
        AttributeError: this version has no such function.
    """
    original = getattr(owner, name)
    if hasattr(original, _MARK):
        return None

    @functools.wraps(original)
    def call(*args: Any, **named: Any) -> Any:
        return around(original, *args, **named)

    setattr(call, _MARK, True)
    setattr(owner, name, call)
    return call


def patch_async(owner: Any, name: str, around: Around) -> Any:
    """Do the same with a coroutine function, which stays one for whoever asks."""
    original = getattr(owner, name)
    if hasattr(original, _MARK):
        return None

    @functools.wraps(original)
    async def call(*args: Any, **named: Any) -> Any:
        return await around(original, *args, **named)

    setattr(call, _MARK, True)
    setattr(owner, name, call)
    return call
