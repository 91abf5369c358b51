"""What the processes of a collector hold in memory, all together, while something is measured."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.processes import BenchError, family, memory_of

_SECONDS = 0.1  # from one look to the next
_WAREHOUSE, _INTERPRETING = "retrospan.ingest.warehouse_process", "retrospan.ingest.interpret.service.worker"


@dataclass(frozen=True, slots=True)
class Held:
    """Resident bytes (VmRSS) at one time, and those of nameless files in memory, which no process has mapped. A page that
    two processes share counts twice."""

    receiving: int = 0
    warehouse: int = 0
    interpreting: int = 0

    @property
    def all(self) -> int:
        """All of it."""
        return self.receiving + self.warehouse + self.interpreting


def held_by(pid: int) -> Held:
    """Return what a collector and all processes below it hold now. One that ends meanwhile holds nothing."""
    receiving = warehouse = interpreting = 0
    for process in family(pid):
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
            resident = memory_of(process, "VmRSS") + _files_in_memory(process)
        except (OSError, BenchError):
            continue
        if _WAREHOUSE in words:
            warehouse += resident
        elif _INTERPRETING in words:
            interpreting += resident
        else:
            receiving += resident
    return Held(receiving, warehouse, interpreting)


def _files_in_memory(process: int) -> int:
    """Return the bytes of the nameless files that a process has open."""
    total = 0
    for file in Path(f"/proc/{process}/fd").iterdir():
        try:
            if os.readlink(file).startswith("/memfd:"):
                total += file.stat().st_blocks * 512
        except OSError:  # closed meanwhile
            continue
    return total


class MemoryWatch:
    """Looks ten times a second, from `with` to its end, and keeps the most that was held at one time."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.most = Held()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(_SECONDS):
            held = held_by(self._pid)
            if held.all > self.most.all:
                self.most = held
