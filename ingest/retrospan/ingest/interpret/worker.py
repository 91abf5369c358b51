"""Interpretation in a process of its own, so that reading what agents said never holds up receiving it.

The parent has the warehouse: it sends the raw rows of some traces as the engine wrote them and gets back canonical rows as
the engine reads them. What needs the warehouse in between is left to the parent. The child ends when its input
does, also when the parent is killed.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, cast

from retrospan.ingest.interpret.batch import Batch, interpret_traces
from retrospan.ingest.interpret.rows import Rows
from retrospan.ingest.load.reading import parse_logs, parse_spans
from retrospan.ingest.warehouse.rows import Encoded, encode_rows
from retrospan.schemas.errors import RetryableError
from retrospan.schemas.sequences import Newest

#: Row list → table, in the order of writing: the pointer last.
TABLES = {name: f"canon_{name}" for name in Rows.__slots__}


class WorkerGone(RetryableError):
    """The interpreting process ended before it answered."""


@dataclass(frozen=True, slots=True)
class Job:
    """Traces to interpret: their raw rows, and generations free from `generation` on."""

    tenant: str
    newest: dict[str, Newest]
    spans: bytes
    logs: bytes
    generation: int
    timed: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class RunSeen:
    """What the parent must know of a run to keep its neighbours right."""

    run_id: str
    generation: int
    conversation_id: str | None
    started_at: int
    final_history_hash: str


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a job. `last_generation` is the highest used."""

    rows: list[Encoded]
    runs: list[RunSeen]
    homes: dict[str, list[str]]
    effort: dict[str, float]
    spans: int
    broken: int
    last_generation: int
    foreign: dict[str, str]


def interpret_job(job: Job) -> Done | None:
    """Return the rows of a job, or None when they cannot be told without the warehouse. Pure."""
    raw_spans, raw_logs = parse_spans(job.spans), parse_logs(job.logs)
    used = job.generation

    def next_generation() -> int:
        nonlocal used
        used += 1
        return used

    batch = interpret_traces(job.tenant, job.newest, raw_spans, raw_logs, next_generation, None)
    return None if batch.needs_warehouse else pack(batch, job.timed, used)


def pack(batch: Batch, timed: Mapping[str, frozenset[str]], last_generation: int) -> Done:
    """Return a batch ready to be written."""
    rows = [
        encode_rows(table, of_table, timed[table])
        for name, table in TABLES.items()
        if (of_table := getattr(batch.rows, name))
    ]
    runs = [
        RunSeen(row.run_id, row.generation, row.conversation_id, row.started_at, row.final_history_hash)
        for row in batch.rows.runs
    ]
    homes = {row.trace_id: row.run_ids for row in batch.rows.traces}
    return Done(rows, runs, homes, batch.effort, batch.spans, batch.broken, last_generation, batch.foreign)


class Worker:
    """The child process, started when first asked. Belongs to one thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def send(self, job: Job) -> None:
        """Give the child a job. It takes one at a time. Raises WorkerGone when it ended before it took this one."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "retrospan.ingest.interpret.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        with self._watched():
            _send(cast("IO[bytes]", self._process.stdin), job)

    def receive(self) -> Done | None:
        """Wait for what `interpret_job` returns for the job. Raises WorkerGone when the child ends before it answers."""
        with self._watched():
            if self._process is None:
                raise EOFError("it has no job")
            answer = _receive(cast("IO[bytes]", self._process.stdout))
        if isinstance(answer, BaseException):
            raise answer
        return cast("Done | None", answer)

    def stop(self) -> None:
        """End the child, if there is one. Safe to call twice."""
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:
                        pass  # the child is gone: there is nobody to flush to
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError, pickle.UnpicklingError) as cause:
            self.stop()
            raise WorkerGone(f"the interpreting process ended: {cause}") from cause


def _send(pipe: IO[bytes], value: object) -> None:
    # Written as it is made: what is large in it goes to the pipe without a copy.
    pickle.dump(value, pipe, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> object:
    """Raises EOFError or UnpicklingError when the other end closes first."""
    return pickle.load(pipe)


def main() -> None:
    """Answer jobs on standard input until it ends."""
    # Ctrl-C is for the parent, which then closes the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            job = cast(Job, _receive(asked))
        except (EOFError, pickle.UnpicklingError):
            return
        answer: object
        try:
            answer = interpret_job(job)
        except Exception as error:  # noqa: BLE001 (the parent decides; it sees what happened here)
            answer = RuntimeError(f"{type(error).__name__}: {error}")
        try:
            _send(answers, answer)
        except BrokenPipeError:
            return


if __name__ == "__main__":
    # Under its own name, so that what is pickled here is known there.
    from retrospan.ingest.interpret import worker

    worker.main()
