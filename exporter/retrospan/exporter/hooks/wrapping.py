"""Putting a function of ours around one of a framework's, and taking it away again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrospan.exporter.recording.guests import say_once

#: Takes the original function, then its arguments.
Around = Callable[..., Any]


class Wrappings:
    """The functions of one framework that are wrapped now."""

    def __init__(self) -> None:
        self._originals: list[tuple[Any, str, Any]] = []

    @property
    def there(self) -> bool:
        return bool(self._originals)

    def wrap(self, owner: Any, name: str, around: Around) -> None:
        """Put a function around `owner.name`.

        Raises:
            AttributeError: The framework has no such function, in this version.
        """
        original = (
            owner.__dict__[name]
            if isinstance(owner, type) and name in owner.__dict__
            else getattr(owner, name)
        )
        is_static = isinstance(original, staticmethod)
        inner = original.__func__ if is_static else original

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            return around(inner, *args, **kwargs)

        self._originals.append((owner, name, original))
        setattr(owner, name, staticmethod(call) if is_static else call)

    def remove(self) -> None:
        """Put every original back."""
        while self._originals:
            owner, name, original = self._originals.pop()
            setattr(owner, name, original)


def beside(where: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call something of ours beside the framework's own work: what it raises is logged once, and None returned."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - a guest
        say_once(where, error)
        return None
