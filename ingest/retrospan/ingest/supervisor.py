"""Starts the process of the warehouse, watches it, and restarts it: whatever happens to it, receiving continues.

It is killed when it reports that a query cannot be stopped or that parts are not whole, when it has not reported for too
long, and when it uses more memory than allowed. Each new process is handed its end of the channel, the socket of the SQL
port, that of Jaeger's API if there is one, and the claim on the directory: as long as it lives, no other collector can
open the directory.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from retrospan.ingest.channel import Answer, Arguments, Channel, ChannelClosed, error_told
from retrospan.ingest.machine.operating_system import resident_bytes, wait_ended
from retrospan.ingest.machine.priority import INTERPRETING, MERGING, lower_threads
from retrospan.ingest.settings.config import Config
from retrospan.schemas.errors import RetrospanError, WarehouseUnavailable

#: It reports every second. Without a word for so long it hangs; while it starts, for ten times as long.
SILENT_SECONDS = 30.0
#: So long /health tells why it ended.
REMEMBERED_SECONDS = 600.0
_LOOK_SECONDS = 0.25
_FIRST_PAUSE, _LAST_PAUSE = 0.1, 5.0
_PROGRAM = ("-m", "retrospan.ingest.warehouse_process")
#: All that it gets of the environment: where Python finds this program, and how texts are read.
_KEPT = ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONDONTWRITEBYTECODE", "LANG", "LC_ALL", "TZ", "TZDIR")


class Supervisor:
    """One per collector. `start` once, `stop` once; everything else from any thread."""

    program: Sequence[str] = _PROGRAM
    """What runs in the process, after the interpreter. Torture has another."""

    def __init__(
        self,
        config: Config,
        listener: socket.socket,
        claim: int,
        *,
        engine_bytes: int,
        most_bytes: int,
        hello: Callable[[], Mapping[str, object]],
        answers: Mapping[str, Answer],
        hears: Mapping[str, Answer],
        changed: Callable[[bool], None],
        log_event: Callable[[str], None],
        jaeger: socket.socket | None = None,
    ) -> None:
        """
        Args:
            listener: the socket of the SQL port, which listens already.
            claim: the descriptor of the claim on the directory.
            engine_bytes: the memory of an embedded engine.
            most_bytes: what the process may have of memory in all; 0 is without a limit.
            hello: what a new process is told of the log.
            answers: the calls that it may make.
            hears: what it may say, beyond what concerns the supervisor.
            changed: called when it begins to answer, and when it no longer does.
        """
        self._config = config
        self._listener = listener
        self._claim = claim
        self._jaeger = jaeger
        self._engine_bytes = engine_bytes
        self._most_bytes = most_bytes
        self._hello = hello
        self._answers = answers
        self._hears: Mapping[str, Answer] = {
            **hears,
            "report": self._reported,
            "alive": self._heard,
            "answering": self._answers_now,
            "failed": self._failed,
            "stuck": self._stuck,
        }
        self._changed = changed
        self._log_event = log_event
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._state = threading.Condition()
        self._answering = False
        self._stopping = False
        self._condemned = ""
        self._error: RetrospanError | None = None
        self._ends: deque[tuple[float, str]] = deque(maxlen=1)
        self._last_report: Arguments = {}
        self._reported_at = time.monotonic()
        self.restarts = 0
        """How often the process was started again."""
        self._thread = threading.Thread(target=self._run, name="retrospan-supervisor", daemon=True)

    def start(self) -> None:
        """Start the process and return; it is watched until `stop`."""
        self._thread.start()

    def wait_answering(self, is_ended: Callable[[], bool] = lambda: False) -> None:
        """Return once the SQL port answers for the first time, or it `is_ended`.

        Raises:
            RetrospanError: the process cannot start; what it said.
        """
        with self._state:
            while not (self._answering or self._error is not None or self._stopping or is_ended()):
                self._state.wait(_LOOK_SECONDS)
            if self._error is not None:
                raise self._error

    @property
    def is_stopping(self) -> bool:
        """Whether the process was told to end."""
        return self._stopping

    @property
    def pid(self) -> int:
        """The process of the warehouse; 0 while there is none."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else 0

    @property
    def report(self) -> Arguments:
        """What the process said of itself last; {} when it has said nothing yet."""
        return self._last_report

    @property
    def report_age(self) -> float:
        """How old that is, in seconds."""
        return time.monotonic() - self._reported_at

    @property
    def failure(self) -> str:
        """Why nothing is answered just now; '' when it answers."""
        if self._answering:
            return ""
        last = self._ends[-1][1] if self._ends else ""
        return f"{last}; the warehouse is restarting" if last else "the warehouse is starting"

    @property
    def last_end(self) -> str:
        """Why the process ended, when that was a short time ago; else ''."""
        if not self._ends or time.monotonic() - self._ends[-1][0] > REMEMBERED_SECONDS:
            return ""
        return self._ends[-1][1]

    def tell(self, name: str, arguments: Arguments) -> None:
        """Send something to the process; without one, nobody hears it."""
        channel = self._channel
        if channel is not None:
            try:
                channel.tell(name, arguments)
            except ChannelClosed:
                pass  # the next one is told all of it when it starts

    def stop(self, arguments: Arguments, seconds: float) -> None:
        """Have the process end in an orderly way within `seconds`; after that it is killed."""
        with self._state:
            self._stopping = True
            self._state.notify_all()
        self.tell("stop", arguments)
        process = self._process
        if process is not None:
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        """Belongs to one thread for the life of the collector: the kernel ends the process when its thread ends."""
        pause = _FIRST_PAUSE
        while True:
            try:
                # Whoever stops comes before the process or finds it: one that nobody tells to end would never end.
                with self._state:
                    if self._stopping:
                        return
                    self._begin()
            except OSError as error:
                reason = f"its process could not be started: {error}"
            else:
                reason = self._watch()
            answered = self._end(reason)
            # One that answered is started again at once; one that never does, less and less often.
            pause = _FIRST_PAUSE if answered else min(pause * 2, _LAST_PAUSE)
            with self._state:
                if self._error is not None and not self.restarts:
                    return  # it never answered: `wait_answering` says why
                self._state.wait_for(lambda: self._stopping, pause)
                self.restarts += not self._stopping

    def _begin(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            environ = {name: os.environ[name] for name in _KEPT if name in os.environ}
            handed = [theirs.fileno(), self._listener.fileno(), self._claim]
            if self._jaeger is not None:
                handed.append(self._jaeger.fileno())
            self._process = subprocess.Popen(
                [sys.executable, *self.program, *map(str, (os.getpid(), *handed))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=handed,
                env=environ,
            )
        self._condemned = ""
        self._reported_at = time.monotonic()
        self._channel = Channel(ours.detach(), self._answers, self._hears)
        self._channel.start()
        told = {"config": self._config.told(), "engine_bytes": self._engine_bytes}
        self.tell("begin", {**told, **self._hello()})

    def _watch(self) -> str:
        """Wait for the end of the process, or bring it about; why it ended."""
        assert self._process is not None
        while True:
            code = wait_ended(self._process, _LOOK_SECONDS)
            if code is None:
                if not self._condemned:
                    self._condemned = self._fault()
                if self._condemned and not self._stopping:
                    self._process.kill()
                continue
            if self._condemned:
                return self._condemned
            if code < 0:
                return f"its process was ended by {signal.Signals(-code).name}"
            return f"its process ended with exit code {code}"

    def _fault(self) -> str:
        """Return why the process must not live on; '' when nothing is wrong with it."""
        silent = SILENT_SECONDS if self._answering else 10 * SILENT_SECONDS
        if self.report_age > silent:
            return f"its process had not reported for {self.report_age:.0f} s and was killed"
        held = resident_bytes(self.pid)
        if self._most_bytes and held > self._most_bytes:
            return f"its process had {held:,} bytes of memory where {self._most_bytes:,} are its limit, and was killed"
        return ""

    def _end(self, reason: str) -> bool:
        """Let go of the process that ended; whether it had answered."""
        with self._state:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        with self._state:
            was_answering, self._answering = self._answering, False
            if not self._stopping:
                self._ends.append((time.monotonic(), reason))
                if not was_answering and self._error is None and not self.restarts:
                    self._error = WarehouseUnavailable(f"the warehouse did not start: {reason}")
            self._state.notify_all()
        if was_answering and not self._stopping:
            self._log_event(
                f"the warehouse: {reason}. It is being restarted; meanwhile arrivals stay in the log"
            )
            self._changed(False)
        return was_answering

    def _reported(self, report: Arguments) -> None:
        self._last_report = report
        self._reported_at = time.monotonic()

    def _heard(self, told: Arguments) -> None:
        self._reported_at = time.monotonic()

    def _answers_now(self, told: Arguments) -> None:
        # In a thread of its own: who stands in may need a moment to end, and what is said meanwhile is heard.
        threading.Thread(
            target=self._hand_over, args=(self._channel,), name="retrospan-hand-over", daemon=True
        ).start()

    def _hand_over(self, channel: Channel | None) -> None:
        """Nobody stands in any more: then, and not before, questions are answered."""
        self._changed(True)
        with self._state:
            self._answering = channel is self._channel
            self._state.notify_all()
        if not self._answering:
            self._changed(False)  # it has ended meanwhile
            return
        # Merges make later answers cheaper, and take a core for half a minute: they are in no more of a hurry than runs.
        # The process itself cannot look at its threads.
        lower_threads(MERGING, INTERPRETING, self.pid)
        if self.restarts:
            self._log_event("the warehouse answers again")

    def _failed(self, told: Arguments) -> None:
        with self._state:
            if self._error is None and not self.restarts:
                self._error = error_told(told["kind"], told["message"], told["known"])
            self._condemned = str(told["message"])[:500]
            self._state.notify_all()

    def _stuck(self, told: Arguments) -> None:
        if self._stopping:
            return  # it ends anyway, and what it still loads is not lost to one query
        self._condemned = str(told["reason"])[:500]
        process = self._process
        if process is not None:
            process.kill()
