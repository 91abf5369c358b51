"""Waits until the loader's thread has loaded the log again. If that cannot happen, the error says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from retrospan.schemas.errors import SegmentUnreadable, WarehouseUnavailable

_LOOK_SECONDS = 0.2
#: So many failures in a row to read a file of the log, and it is not waited for any longer: it may have moved just then.
_UNREADABLE_TIMES = 3

Progress = Callable[[int, int], None]


class Loading(Protocol):
    """What is asked of the loader. `unreadable` counts its failures in a row to read a file of the log."""

    failure: str
    unreadable: int

    @property
    def loaded_sequence(self) -> int: ...

    @property
    def is_stopping(self) -> bool: ...

    @property
    def has_died(self) -> bool: ...

    def wait_loaded(self, sequence: int, timeout: float) -> bool: ...


def wait_reloaded(loader: Loading, target: int, progress: Progress) -> None:
    """Return once every record up to `target` is loaded; `progress` is called with (loaded, all) meanwhile.

    Raises:
        SegmentUnreadable: a file of the log is gone, or cannot be read. The loader goes on trying.
        WarehouseUnavailable: the collector stops, or loading ended by a fault of ours.
    """
    while not loader.wait_loaded(target, _LOOK_SECONDS):
        progress(loader.loaded_sequence, target)
        if loader.is_stopping:
            raise WarehouseUnavailable(
                f"The collector is stopping; {loader.loaded_sequence} of {target} records were loaded again. "
                "The rest follows at the next start."
            )
        if loader.has_died:
            raise WarehouseUnavailable(
                f"loading ended after {loader.loaded_sequence} of {target} records: {loader.failure}. "
                "Restart the collector: it goes on from there"
            )
        if loader.unreadable >= _UNREADABLE_TIMES:
            raise SegmentUnreadable(
                f"{loader.failure}. Records up to {loader.loaded_sequence} of {target} were loaded again; the rest, "
                "and what comes in, waits for that file. Rows that are in the tables stay there"
            )
    progress(target, target)
