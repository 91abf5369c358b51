"""Interpretation in a process of its own, so that reading what agents said never holds up receiving it.

The parent has the warehouse: it sends the raw rows of some traces as the engine wrote them and gets back canonical rows as
the engine reads them. Both go in parts, so that a run of any length is nowhere whole but where it is interpreted. What
needs the warehouse in between is left to the parent. The child ends when its input does, also when the parent is
killed.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import IO, cast

from retrospan.ingest.interpret.batch import Batch, given_of, interpret_traces
from retrospan.ingest.interpret.rows import Rows
from retrospan.ingest.load.reading import parse_logs, parse_spans
from retrospan.ingest.privacy import close_to_others
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.ingest.warehouse.rows import Encoded, encode_in_pieces
from retrospan.schemas.errors import RetryableError
from retrospan.schemas.raw import RawSpan
from retrospan.schemas.sequences import Newest

#: Row list → table, in the order of writing: the pointer last.
TABLES = {name: f"canon_{name}" for name in Rows.__slots__}

#: How much is sent back in one piece, in characters, and how many bytes of pieces the parent holds at a time.
PIECE_CHARACTERS = 8_000_000
HELD_BYTES = 32_000_000


class WorkerGone(RetryableError):
    """The interpreting process ended before it answered."""


@dataclass(frozen=True, slots=True)
class Job:
    """Traces to interpret: generations free from `generation` on, the rules to read them by, and their raw rows.

    `pages` are those of their spans, read as they are sent, and stay behind when a job is pickled.
    """

    tenant: str
    newest: dict[str, Newest]
    logs: bytes
    generation: int
    timed: Mapping[str, frozenset[str]]
    rules: Ruleset
    pages: Iterable[bytes] = ()


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
    """What came of a job. `last_generation` is the highest used.

    `rows` can be gone through once. With `is_large` they are still coming: they have to be written, or given up,
    before the next job is sent.
    """

    runs: list[RunSeen]
    homes: dict[str, list[str]]
    effort: dict[str, float]
    spans: int
    broken: int
    last_generation: int
    foreign: dict[str, str]
    rows: Iterable[Encoded] = ()
    is_large: bool = False


def interpret_job(job: Job) -> Done | None:
    """Return what came of a job, or None when it cannot be told without the warehouse. Pure but for its pages."""
    raw_spans: list[RawSpan] = []
    pages = 0
    for page in job.pages:
        raw_spans += parse_spans(page)
        pages += 1
    given = given_of(job.newest, raw_spans, parse_logs(job.logs))
    del raw_spans  # of a long run they take as much as all the rest
    used = job.generation

    def next_generation() -> int:
        nonlocal used
        used += 1
        return used

    batch = interpret_traces(
        job.tenant,
        job.newest,
        given,
        next_generation,
        None,
        rules=job.rules,
        at_once=pages <= 1,
    )
    return None if batch.needs_warehouse else pack(batch, job.timed, used)


def pack(batch: Batch, timed: Mapping[str, frozenset[str]], last_generation: int) -> Done:
    """Return a batch ready to be written; it is used up with the rows."""
    runs = [
        RunSeen(row.run_id, row.generation, row.conversation_id, row.started_at, row.final_history_hash)
        for row in batch.rows.runs
    ]
    homes = {row.trace_id: row.run_ids for row in batch.rows.traces}
    batch.runs = []
    return Done(
        runs,
        homes,
        batch.effort,
        batch.spans,
        batch.broken,
        last_generation,
        batch.foreign,
        _encoded(batch.rows, timed),
    )


def _encoded(rows: Rows, timed: Mapping[str, frozenset[str]]) -> Iterator[Encoded]:
    for name, table in TABLES.items():
        if of_table := getattr(rows, name):
            setattr(rows, name, [])
            yield from encode_in_pieces(table, of_table, timed[table], PIECE_CHARACTERS)


class Worker:
    """The child process, started when first asked. Belongs to one thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_answering = False  # rows are on their way

    def send(self, job: Job) -> None:
        """Give the child a job. It takes one at a time: rows of the last that nobody went through are given up.

        Raises WorkerGone when it ended before it took this one, and whatever reading a page raises.
        """
        if self._is_answering:
            self.stop()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "retrospan.ingest.interpret.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        pipe = cast("IO[bytes]", self._process.stdin)
        with self._watched():
            _send(pipe, replace(job, pages=()))
        try:
            for page in job.pages:
                with self._watched():
                    _send(pipe, page)
        except BaseException:
            self.stop()  # it has a part of a job
            raise
        with self._watched():
            _send(pipe, None)

    def receive(self) -> Done | None:
        """Wait for what `interpret_job` returns for the job.

        Raises WorkerGone when the child ends before it answers; going through the rows may raise it as well.
        """
        done = cast("Done | None", self._answer())
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

    def _rows(self) -> Iterator[Encoded]:
        while (piece := self._answer()) is not None:
            yield cast(Encoded, piece)
        self._is_answering = False

    def _answer(self) -> object:
        with self._watched():
            if self._process is None:
                raise EOFError("it has no job")
            answer = _receive(cast("IO[bytes]", self._process.stdout))
        if isinstance(answer, BaseException):
            self._is_answering = False
            raise answer
        return answer

    def stop(self) -> None:
        """End the child, if there is one. Safe to call twice."""
        process, self._process = self._process, None
        self._is_answering = False
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
    close_to_others()
    # Ctrl-C is for the parent, which then closes the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    try:
        while True:
            for answer in _answers(cast(Job, _receive(asked)), asked):
                _send(answers, answer)
    except (EOFError, pickle.UnpicklingError, BrokenPipeError):
        return


def _answers(job: Job, asked: IO[bytes]) -> Iterator[object]:
    """What came of the job whose pages follow: its head, its rows, None at the end; or None alone, or an error."""
    pages = iter(lambda: cast("bytes | None", _receive(asked)), None)
    try:
        done = interpret_job(replace(job, pages=pages))
        if done is not None:
            yield replace(done, rows=())
            yield from done.rows
        yield None
    except (EOFError, pickle.UnpicklingError):
        raise
    except Exception as error:  # noqa: BLE001 (the parent decides; it sees what happened here)
        for _ in pages:
            pass  # the next job begins behind them
        yield RuntimeError(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    # Under its own name, so that what is pickled here is known there.
    from retrospan.ingest.interpret import worker

    worker.main()
