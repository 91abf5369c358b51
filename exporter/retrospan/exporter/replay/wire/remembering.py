"""A cache of messages: each request of a conversation contains all messages of the one before it."""

from __future__ import annotations

import functools
import marshal
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

JSON = dict[str, Any]
Read = TypeVar("Read")
#: Bytes of what is remembered, of one form; what is more forgets all of it.
_MOST = 32 << 20


def remembered(read: Callable[[JSON], Read]) -> Callable[[JSON], Read]:
    """Make a function of JSON give the same object for equal values. Whoever gets it may not change it."""
    known = dict[bytes, Read]()
    lock, size = Lock(), 0

    @functools.wraps(read)
    def again(value: JSON) -> Read:
        nonlocal size
        # Without references: equal bytes are equal values, and no 1 is a True.
        name = marshal.dumps(value, 2)
        found = known.get(name)
        if found is None:
            found = read(value)
            with lock:
                if size > _MOST:
                    known.clear()
                    size = 0
                known[name] = found
                size += len(name)
        return found

    return again
