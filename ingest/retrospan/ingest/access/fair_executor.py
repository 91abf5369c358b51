"""A pool of threads that serves senders in turn: a flood delays its own sender, and nobody else.

Work waits in lanes. A lane is a path: tenant, token, connection. A thread that becomes free takes the next tenant in
turn, within it the next token, within that the next connection, and there the oldest piece of work.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Lane = tuple[str, ...]
_Work = Callable[[], None]


class FairQueue:
    """Waiting tasks, by lane. Lanes must not be prefixes of each other. Not shared between threads without a lock."""

    def __init__(self) -> None:
        self._lanes: dict[str, FairQueue] = {}
        self._waiting: deque[_Work] = deque()
        self.size = 0

    def add(self, lane: Lane, work: _Work) -> None:
        """Let work wait at the end of its lane."""
        self.size += 1
        if not lane:
            self._waiting.append(work)
            return
        # A dict keeps its order, so a lane that was empty gets in line behind those that wait.
        inner = self._lanes.get(lane[0])
        if inner is None:
            inner = self._lanes[lane[0]] = FairQueue()
        inner.add(lane[1:], work)

    def take(self) -> _Work:
        """Return what is next; there must be something."""
        self.size -= 1
        if self._waiting:
            return self._waiting.popleft()
        name = next(iter(self._lanes))
        lane = self._lanes.pop(name)
        work = lane.take()
        if lane.size:
            self._lanes[name] = lane
        return work


class FairExecutor(Executor):
    """Up to a number of threads whose work takes turns by lane. A thread starts when all others have work.

    Few threads that are warm do the same in less time than many that take it in turn.
    """

    def __init__(
        self,
        threads: int,
        name: str,
        lane_of: Callable[[tuple[Any, ...]], Lane] = lambda arguments: ("", "", ""),
    ) -> None:
        """`lane_of` finds the lane of work that `submit` is given, from its arguments."""
        self._most = threads
        self._name = name
        self._lane_of = lane_of
        self._turns = FairQueue()
        self._taking = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._busy = 0
        self._closed = False
        # One ticket per piece of work; whichever thread draws it takes what is next by then. None ends a thread.
        self._tickets: queue.SimpleQueue[bool | None] = queue.SimpleQueue()

    @property
    def waiting(self) -> int:
        """How much work no thread has taken yet."""
        with self._taking:
            return self._turns.size

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run work in its turn."""
        return self.submit_in(self._lane_of(args), fn, *args, **kwargs)

    def submit_in(self, lane: Lane, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run work in its turn, in this lane. Raises RuntimeError after `shutdown`."""
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - whoever waits for the future gets it
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._taking:
            if self._closed:
                raise RuntimeError("the pool is shut down")
            self._turns.add(lane, work)
            if len(self._threads) < min(self._most, self._busy + self._turns.size):
                name = f"{self._name}_{len(self._threads)}"
                thread = threading.Thread(target=self._serve, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
            self._tickets.put(True)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more work; waiting tasks are still done, whatever `cancel_futures` says. Harmless when repeated."""
        with self._taking:
            if not self._closed:
                self._closed = True
                for _ in self._threads:
                    self._tickets.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def end(self, deadline: float) -> bool:
        """Accept no more work, and wait for what there is until a time of the monotonic clock; return whether all is
        done.

        What is not done by then goes on as long as the process does.
        """
        self.shutdown(wait=False)
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _serve(self) -> None:
        while self._tickets.get():
            with self._taking:
                work = self._turns.take()
                self._busy += 1
            work()
            del work  # or its arguments, a whole request, would stay until the next one
            with self._taking:
                self._busy -= 1
