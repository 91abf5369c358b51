"""Interpretation in a process of its own, so that reading what agents said never holds up receiving it.

The parent has the warehouse: it sends the raw rows of some traces as the engine wrote them and gets back canonical rows as
the engine reads them. Both go in parts, so that a run of any length is nowhere whole but where it is interpreted. What
needs the warehouse in between the child asks of the parent. It may take so much memory and no more, says nothing for so
long and no longer, and ends when its input does, also when the parent is killed.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, cast

from retrospan.ingest.interpret.service.job import BatchResult, Job
from retrospan.ingest.interpret.service.remote_store import RemoteStore, StoreQuery
from retrospan.ingest.machine.operating_system import end_with, widen_pipe
from retrospan.ingest.machine.privacy import close_to_others
from retrospan.ingest.warehouse.rows import Encoded
from retrospan.schemas.errors import RetrospanError, RetryableError

if TYPE_CHECKING:
    from retrospan.ingest.interpret.service.kept_traces import KeptTraces

#: How many bytes of pieces the parent holds at a time.
HELD_BYTES = 32_000_000

#: After so many new containers Python looks for cycles. Rows and messages are a great many and have none: at its default
#: of 700 that look is a tenth of what interpreting costs.
CONTAINERS = 100_000


class WorkerGone(RetryableError):
    """The interpreting process ended before it answered, or was ended because it took too long."""


class Worker:
    """The child process, started when first asked. Belongs to one thread."""

    def __init__(
        self, memory_bytes: int = 0, patience_seconds: float | None = None, niceness: int = 0
    ) -> None:
        """Let the child take `memory_bytes` (0: without end), and end it when it says nothing for so long."""
        self._niceness = niceness
        self._memory = memory_bytes
        self._patience = patience_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._asked: Connection | None = None
        self._answers: Connection | None = None
        self._is_answering = False  # rows are on their way

    def send(self, job: Job) -> None:
        """Give the child a job. It takes one at a time: rows of the last that nobody went through are given up.

        Raises WorkerGone when it ended before it took this one, and whatever reading a page raises.
        """
        if self._is_answering:
            self.stop()
        if self._process is None:
            self._start()
        self._put(replace(job, pages=()))
        if job.asks:
            return
        try:
            for page in job.pages:
                self._put(page)
        except BaseException:
            self.stop()  # it has a part of a job
            raise
        self._put(None)

    def receive(self, answer: Callable[[StoreQuery], object] | None = None) -> BatchResult | None:
        """Wait for what `interpret_job` returns for the job; what the child asks meanwhile is passed to `answer`.

        Raises WorkerGone when the child ends before it answers; going through the rows may raise it as well.
        """
        while isinstance(message := self.message(), StoreQuery):
            if answer is None:
                raise WorkerGone("the interpreting process asked where nobody answers")
            self.reply(answer, message)
        done = cast("BatchResult | None", message)
        if done is None:
            return None
        self._is_answering = True
        rows, held, size = self._rows(), list[Encoded](), 0
        for piece in rows:
            held.append(piece)
            size += len(piece.data)
            if size > HELD_BYTES:
                return replace(done, rows=chain(held, rows), is_large=True)
        return replace(done, rows=held)

    @property
    def is_running(self) -> bool:
        """Whether there is a child, as far as is known."""
        return self._process is not None

    def has_message(self, timeout: float) -> bool:
        """Whether the child has said something, or has ended; waits so many seconds for it."""
        with self._watched():
            return self._answers is None or self._answers.poll(timeout)

    def message(self) -> object:
        """Wait for what the child says next: what it asks, the head of the job's answer, rows, None at the end.

        Raises WorkerGone, and the error that stands in the place of an answer.
        """
        with self._watched():
            if self._answers is None:
                raise EOFError("it has no job")
            if not self._answers.poll(self._patience):
                raise EOFError(f"it was silent for {self._patience:.0f} s")
            answer: object = pickle.loads(self._answers.recv_bytes())
        if isinstance(answer, BaseException):
            self._is_answering = False
            raise answer
        return answer

    def reply(self, answer: Callable[[StoreQuery], object], asked: StoreQuery) -> None:
        """Answer what the child asked. What the warehouse raises is raised in the child, and from there here again."""
        try:
            found = answer(asked)
        except RetrospanError as error:
            found = error
        self._put(found)

    def stop(self) -> None:
        """End the child, if there is one, whatever it does. Safe to call twice."""
        process, self._process = self._process, None
        self._is_answering = False
        for pipe in (self._asked, self._answers):
            if pipe is not None:
                pipe.close()
        self._asked = self._answers = None
        if process is not None:
            process.kill()
            process.wait()

    def _start(self) -> None:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "retrospan.ingest.interpret.service.worker",
                str(self._memory),
                str(self._niceness),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin as asked, process.stdout as answers:
            self._asked = Connection(os.dup(asked.fileno()), readable=False)
            self._answers = Connection(os.dup(answers.fileno()), writable=False)
        process.stdin = process.stdout = None
        for pipe in (self._asked, self._answers):
            widen_pipe(pipe.fileno())
        self._process = process

    def _rows(self) -> Iterator[Encoded]:
        while (piece := self.message()) is not None:
            yield cast(Encoded, piece)
        self._is_answering = False

    def _put(self, value: object) -> None:
        with self._watched():
            if self._asked is None:
                raise EOFError("it has ended")
            _send(self._asked, value)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError, pickle.UnpicklingError) as cause:
            process = self._process
            ended = process.poll() if process is not None else None
            self.stop()
            how = f"signal {-ended}" if ended is not None and ended < 0 else str(cause)
            raise WorkerGone(f"the interpreting process ended: {how}") from cause


def _send(pipe: Connection, value: object) -> None:
    pipe.send_bytes(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


def _receive(pipe: Connection) -> object:
    """Raise EOFError or OSError when the other end closes first."""
    return pickle.loads(pipe.recv_bytes())


def main() -> None:
    """Answer jobs on standard input until it ends. Arguments: the most memory in bytes, 0 for any; the niceness."""
    close_to_others()
    # Ctrl-C is for the parent, which then closes the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(int(sys.argv[2]))
    gc.set_threshold(CONTAINERS)
    if most := int(sys.argv[1]):
        with suppress(OSError, ValueError):  # macOS keeps no such limit
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    # It may be at work for minutes when the parent is killed, and would not notice before its next word.
    end_with(os.getppid(), 1)
    asked, answers = Connection(0, writable=False), Connection(1, readable=False)
    # Imported here and below: the parent loads this module too, and never reads a run.
    from retrospan.ingest.interpret.service.kept_traces import KEPT_BYTES, KeptTraces

    kept = KeptTraces(min(KEPT_BYTES, most // 8) if most else KEPT_BYTES)
    try:
        while True:
            for answer in _answers(cast(Job, _receive(asked)), asked, answers, kept):
                _send(answers, answer)
    except (EOFError, OSError, pickle.UnpicklingError):
        return


def _answers(job: Job, asked: Connection, answers: Connection, kept: KeptTraces) -> Iterator[object]:
    """Yield the answer to the job whose pages follow: its head, its rows, None at the end; or None, or an error.

    Of runs of any length nothing is kept.
    """
    pages: Iterator[bytes] = iter(())
    if not job.asks:
        pages = iter(lambda: cast("bytes | None", _receive(asked)), None)

    def ask(question: StoreQuery) -> object:
        _send(answers, question)
        found = _receive(asked)
        if isinstance(found, BaseException):
            raise found
        return found

    try:
        from retrospan.ingest.interpret.service.jobs import interpret_job, interpret_whole

        if job.asks:
            store = RemoteStore(ask)
            done: BatchResult | None = interpret_whole(
                job, store, store.owns, kept if job.most_rows else None
            )
        else:
            done = interpret_job(replace(job, pages=pages), kept)
        if done is not None:
            yield replace(done, rows=())
            yield from done.rows
        yield None
    except (EOFError, OSError, pickle.UnpicklingError):
        raise
    except Exception as error:  # noqa: BLE001 (the parent decides; it sees what happened here)
        kept.clear()
        for _ in pages:
            pass  # the next job begins behind them
        if isinstance(error, MemoryError):
            yield RuntimeError("it takes more memory than a process that reads runs may have")
        else:
            yield error if isinstance(error, RetrospanError) else RuntimeError(traceback.format_exc())


if __name__ == "__main__":
    # Under its own name, so that what is pickled here is known there.
    from retrospan.ingest.interpret.service import worker

    worker.main()
