"""Feeds data to the engine while the data is being made, through a pipe that has a path in this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from retrospan.ingest.machine.operating_system import path_of, widen_pipe

#: A length that no Protobuf message can have: the engine refuses the whole insert.
_REFUSED = b"\xff" * 16


@contextmanager
def fed_pipe(pieces: Iterable[bytes]) -> Iterator[str]:
    """Return a path under which the engine reads the pieces, once and in order; a thread takes one at a time, with the
    priority of the caller's.

    For Protobuf, whose messages stand behind their lengths. When the pieces fail, the engine reads a length that it
    refuses, and their error is raised at the end of the block, whatever came of the statement.
    """
    reader, writer = os.pipe()
    widen_pipe(reader)
    feeder = _Feeder(pieces, writer)
    feeder.start()
    try:
        yield path_of(reader)
    finally:
        # Who still writes is told so: the engine has what it wanted, or has refused it.
        os.close(reader)
        feeder.join()
        if feeder.failure is not None:
            raise feeder.failure


class _Feeder(threading.Thread):
    def __init__(self, pieces: Iterable[bytes], writer: int) -> None:
        super().__init__(name="retrospan-feeding", daemon=True)
        self.failure: Exception | None = None
        self._pieces = pieces
        self._writer = writer

    def run(self) -> None:
        try:
            with suppress(BrokenPipeError):
                self._feed()
        finally:
            os.close(self._writer)

    def _feed(self) -> None:
        # Whatever ends this early: the engine would take what it has by then for the whole.
        is_whole = False
        try:
            for piece in self._pieces:
                self._write(piece)
            is_whole = True
        except BrokenPipeError:
            raise
        except Exception as failure:  # noqa: BLE001 - raised where the insert was asked for
            self.failure = failure
        finally:
            if not is_whole:
                self._write(_REFUSED)

    def _write(self, piece: bytes) -> None:
        view = memoryview(piece)
        while view:
            view = view[os.write(self._writer, view) :]
