"""Messages between the receiving process and the process of the warehouse, over a pair of sockets.

Messages are JSON, prefixed with their length, of at most `LONGEST` bytes. A call is answered with a value or an error
of `retrospan.schemas.errors`; a notice is not answered. Nothing that arrives is ever executed or unpickled: the
engine's process answers strangers' queries, and the other one keeps the log.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from retrospan.ingest.logs import log_failure
from retrospan.schemas import errors
from retrospan.schemas.errors import RetrospanError, WarehouseUnavailable

#: Bytes of one message: the receipts of one record are the largest.
LONGEST = 64 << 20
CALL_SECONDS = 60.0
_AT_ONCE = 8

Arguments = Mapping[str, Any]
Answer = Callable[[Arguments], object]


class ChannelClosed(WarehouseUnavailable):
    """The other process has ended, or does not answer."""


class Channel:
    """One end. Calls may be made from any thread; notices are heard in order, in one thread, and must not take long."""

    def __init__(
        self,
        descriptor: int,
        answers: Mapping[str, Answer],
        hears: Mapping[str, Answer],
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        """`answers` are the calls that the other end may make, `hears` its notices; `ended` is called once the other end
        is gone."""
        self._connection = Connection(descriptor)
        # The same socket, to end it with: closing a descriptor does not wake the thread that reads from it.
        self._socket = socket.socket(fileno=os.dup(descriptor))
        self._answers = answers
        self._hears = hears
        self._ended = ended
        self._sending = threading.Lock()
        self._waiting: dict[int, Future[object]] = {}
        self._counting = threading.Lock()
        self._number = 0
        self._closed = False
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="retrospan-channel")
        self._thread = threading.Thread(target=self._read, name="retrospan-channel", daemon=True)

    def wait_for(self, name: str) -> Arguments:
        """Hear notices in this thread, before `start`, until the first of this name; returns what it says.

        Raises EOFError and OSError when the other end is gone.
        """
        while True:
            message = json.loads(self._connection.recv_bytes(LONGEST))
            if message.get("call") == name:
                found: Arguments = message["with"]
                return found
            self._take(message)

    def start(self) -> None:
        """Begin to hear the other end."""
        self._thread.start()

    def call(self, name: str, arguments: Arguments | None = None, timeout: float = CALL_SECONDS) -> Any:
        """Ask the other end and return what it answers.

        Raises:
            ChannelClosed: it is gone, or did not answer within `timeout` seconds.
            RetrospanError: what it answered with.
        """
        future: Future[object] = Future()
        with self._counting:
            if self._closed:
                raise ChannelClosed("the collector's other process has ended; it is being restarted")
            self._number += 1
            number = self._number
            self._waiting[number] = future
        try:
            self._send({"number": number, "call": name, "with": arguments or {}})
            return future.result(timeout)
        except TimeoutError as cause:
            raise ChannelClosed(
                f"the collector's other process did not answer within {timeout:g} s"
            ) from cause
        finally:
            with self._counting:
                self._waiting.pop(number, None)

    def tell(self, name: str, arguments: Arguments) -> None:
        """Send a notice. Raises ChannelClosed when the other end has closed."""
        self._send({"call": name, "with": arguments})

    def close(self) -> None:
        """End it; pending calls raise ChannelClosed. Harmless when repeated."""
        with self._counting:
            self._closed = True
            waiting, self._waiting = list(self._waiting.values()), {}
        for future in waiting:
            if not future.done():
                future.set_exception(ChannelClosed("the collector's other process has ended"))
        self._pool.shutdown(wait=False)
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end is gone already
        self._socket.close()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            # It wakes now, and closes the descriptor itself: closed under it, the number may soon be that of another
            # socket, whose bytes it would then take.
            return
        with self._sending:
            if not self._connection.closed:
                self._connection.close()

    def _send(self, message: Mapping[str, object]) -> None:
        data = json.dumps(message, separators=(",", ":")).encode()
        try:
            with self._sending:
                self._connection.send_bytes(data)
        except (OSError, ValueError) as cause:
            raise ChannelClosed("the collector's other process has ended") from cause

    def _read(self) -> None:
        try:
            while True:
                self._take(json.loads(self._connection.recv_bytes(LONGEST)))
        except (OSError, EOFError):
            pass  # the other end is gone, or this one was closed
        except Exception as error:  # noqa: BLE001 - what does not speak this language is not listened to
            log_failure("the collector's other process", error)
        self.close()
        self._ended()

    def _take(self, message: dict[str, Any]) -> None:
        if "call" not in message:
            with self._counting:
                future = self._waiting.pop(message["number"], None)
            if future is None:
                return
            if "fails" in message:
                future.set_exception(_error_of(message["fails"]))
            else:
                future.set_result(message.get("gives"))
        elif "number" in message:
            try:
                self._pool.submit(self._answer, message)
            except RuntimeError:
                pass  # closed meanwhile
        else:
            self._hears[message["call"]](message["with"])

    def _answer(self, message: dict[str, Any]) -> None:
        reply: dict[str, object] = {"number": message["number"]}
        try:
            reply["gives"] = self._answers[message["call"]](message["with"])
        except RetrospanError as error:
            reply["fails"] = told(error)
        except Exception as error:  # noqa: BLE001 - whoever asked must get an answer
            log_failure(f"the call {message['call']!r}", error)
            reply["fails"] = told(WarehouseUnavailable(f"an internal error: {type(error).__name__}"))
        try:
            self._send(reply)
        except ChannelClosed:
            pass


def told(error: RetrospanError) -> dict[str, object]:
    """Return an error as the other end can make it again: its class, its words, and what else it knows."""
    known = {name: value for name, value in vars(error).items() if isinstance(value, str | int | bool | None)}
    return {"kind": type(error).__name__, "message": str(error), "known": known}


def _error_of(fails: Mapping[str, Any]) -> RetrospanError:
    return error_told(str(fails["kind"]), str(fails["message"]), fails["known"])


def error_told(kind: str, message: str, known: Mapping[str, object]) -> RetrospanError:
    """Return the error that the other end reported; for an unknown class, a retryable one."""
    found = getattr(errors, kind, None)
    if not (isinstance(found, type) and issubclass(found, RetrospanError)):
        return WarehouseUnavailable(message)
    error = found.__new__(found)
    error.args = (message,)
    vars(error).update(known)
    return error
