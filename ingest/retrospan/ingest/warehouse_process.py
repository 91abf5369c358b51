"""The process of the warehouse: the engine, and everything that follows the log. Run by the supervisor, never by hand.

    python -m retrospan.ingest.warehouse_process PARENT CHANNEL LISTENER CLAIM [JAEGER]

PARENT is the id of the process that receives; the others are file descriptors that it hands over (JAEGER is the socket
of Jaeger's API). The process ends with its parent, however the parent ends. It is the parent that tells it to stop:
signals from a terminal or a service manager are for the parent.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from retrospan.ingest.access.tls import context_of
from retrospan.ingest.alerts.attempt import Attempt, Message
from retrospan.ingest.channel import Arguments, Channel, ChannelClosed, told
from retrospan.ingest.log.record import Note
from retrospan.ingest.log.segment import Segment
from retrospan.ingest.log.segment_messages import segment_message, segments_of
from retrospan.ingest.logs import install, log_event, log_failure
from retrospan.ingest.machine.confinement import (
    DEVICES,
    SYSTEM_PLACES,
    confine,
    python_places,
    python_programs,
)
from retrospan.ingest.machine.operating_system import end_with
from retrospan.ingest.machine.privacy import close_to_others
from retrospan.ingest.machine.system_errors import worded
from retrospan.ingest.prices.kept_prices import FILE
from retrospan.ingest.remote_file import RemoteFile
from retrospan.ingest.service import Service
from retrospan.ingest.settings.config import Config
from retrospan.schemas.errors import RetrospanError, WarehouseUnavailable

REPORT_SECONDS = 1.0
_FAILED = 2
#: The kernel ends this process before the one that acknowledges.
_OOM_SCORE = "500"


class Reporter(Service):
    """Reports every second, from the first moment on: silence means that this process hangs."""

    thread_name = "retrospan-report"
    work = "a report of the warehouse"
    pauses = (REPORT_SECONDS, REPORT_SECONDS)

    def __init__(self, channel: Channel) -> None:
        super().__init__(REPORT_SECONDS)
        self.following: Any = None
        """What is reported of, once it is there."""
        self._channel = channel

    def run_once(self) -> None:
        """Report once, unless nobody listens any more."""
        following = self.following
        report = following.reporting.report(look=False) if following is not None else {}
        try:
            self._channel.tell("report" if report else "alive", report)
        except ChannelClosed:
            self.ask_to_stop()


class WarehouseProcess:
    """From the first word of the parent to the last."""

    def __init__(self, channel: int, listener: socket.socket, jaeger: socket.socket | None = None) -> None:
        self._listener = listener
        self._jaeger = jaeger
        self._channel = Channel(
            channel,
            answers={},
            hears={"grow": self._grow, "stop": self._stop, "hurry": self._hurry},
            ended=lambda: os._exit(_FAILED),
        )
        self._reporter = Reporter(self._channel)
        self._stopping = threading.Event()
        self._last: Arguments = {}
        self._growing = threading.Lock()
        self._grown: list[list[Mapping[str, Any]]] = []
        self._log: Any = None

    def run(self) -> int:
        """Serve until told to stop. Returns the exit code."""
        try:
            told_first = self._channel.wait_for("begin")
        except (EOFError, OSError):
            return _FAILED
        config, engine_bytes = Config.read(told_first["config"]), int(told_first["engine_bytes"])
        try:
            tls = context_of(told_first["tls"])
            if config.warehouse is None:
                config = replace(config, data=config.data.absolute())
                _confine(config.data)
            self._channel.start()
            self._reporter.start()
            self._serve(config, engine_bytes, tls, told_first["segments"])
        except RetrospanError as error:
            self._channel.tell("failed", told(error))
            return _FAILED
        except OSError as error:
            log_failure("the warehouse", error)
            self._channel.tell(
                "failed", told(WarehouseUnavailable(f"the warehouse cannot start: {worded(error)}"))
            )
            return _FAILED
        except Exception as error:  # noqa: BLE001 - whoever waits for this process must hear why
            log_failure("the warehouse", error)
            self._channel.tell("failed", told(WarehouseUnavailable(f"{type(error).__name__}: {error}")))
            return _FAILED
        return 0

    def _serve(
        self,
        config: Config,
        engine_bytes: int,
        tls: ssl.SSLContext | None,
        segments: Sequence[Mapping[str, Any]],
    ) -> None:
        # Imported here: that this process lives and has read its orders is reported before the engine is loaded.
        from retrospan.ingest.access.remote import RemoteGate
        from retrospan.ingest.log.follower import LogFollower
        from retrospan.ingest.open_warehouse import open_warehouse

        channel, directory = self._channel, config.data / "log"
        log = LogFollower(directory, segments_of(segments, directory), self._append, self._moved, self._seal)
        with self._growing:
            self._log = log
            for grown in self._grown:
                log.grow(segments_of(grown, directory))
        config = _reading_settings_over(channel, config)
        guarded = config.tokens is not None
        opened = open_warehouse(config, engine_bytes, guarded=guarded)
        opened.begin()
        # While the engine is loaded and the tables are made.
        from retrospan.ingest.following import Following

        following = Following(
            config,
            opened,
            log,
            RemoteGate(channel, guarded=guarded),
            tls=tls,
            log_event=log_event,
            stuck=self._stuck,
            deliver=self._deliver,
        )
        try:
            following.start(
                self._listener,
                health=lambda: channel.call("health", following.reporting.report()),
                metrics=lambda: channel.call("metrics", following.reporting.report()),
                jaeger=self._jaeger,
            )
            self._reporter.following = following
            channel.tell("report", following.reporting.report())
            channel.tell("answering", {})
            self._stopping.wait()
            following.stop(self._last["durable"], self._last["drain_seconds"])
        finally:
            opened.close()
            log.close()

    def _append(self, *, tenant: str, notes: Sequence[Note] = ()) -> int:
        said = [{"kind": note.kind, "body": note.body.hex()} for note in notes]
        return cast(int, self._channel.call("append", {"tenant": tenant, "notes": said}))

    def _deliver(self, target: str, message: Message) -> Attempt:
        asked = {"target": target, "alert_id": message.alert_id, "attempt": message.attempt}
        told = self._channel.call("deliver", {**asked, "body": message.body.decode()})
        return Attempt(told["outcome"], told["reason"])

    def _seal(self, last_sequence: int) -> bool:
        return cast(bool, self._channel.call("seal", {"last": last_sequence}))

    def _moved(self, segment: Segment, there: bool) -> None:
        directory = cast(Path, self._log.directory)
        self._channel.tell("moved", {**segment_message(segment, directory), "there": there})

    def _stuck(self, reason: str) -> None:
        self._channel.tell("stuck", {"reason": reason})

    def _grow(self, arguments: Arguments) -> None:
        with self._growing:
            if self._log is None:
                self._grown.append(arguments["segments"])
                return
        self._log.grow(segments_of(arguments["segments"], self._log.directory))

    def _stop(self, arguments: Arguments) -> None:
        self._last = arguments
        self._reporter.ask_to_stop()
        self._stopping.set()

    def _hurry(self, arguments: Arguments) -> None:
        if self._reporter.following is not None:
            self._reporter.following.hurry()


def _confine(data: Path) -> None:
    """Confine this process and its children to what the engine needs, whatever a query makes it do.

    Called before any thread is there.
    """
    temporary = data / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    places = [temporary, data / "warehouse", data / "log"]
    try:
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise WarehouseUnavailable(f"{data} cannot take the warehouse: {worded(cause)}") from cause
    # The engine puts what it needs for a moment there, and reads a configuration from its home and from where it is.
    os.environ |= {"HOME": "/nonexistent", "TMPDIR": str(temporary)}
    os.chdir("/")
    confine(
        readable=[*python_places(), *SYSTEM_PLACES],
        writable=[*places, *DEVICES],
        executable=python_programs(),
        listed=[data],
    )


def _reading_settings_over(channel: Channel, config: Config) -> Config:
    """Return the same configuration, whose files of settings are read by the other process."""
    retention, interpreter = config.retention, config.interpreter
    if retention.policy is not None:
        retention = replace(retention, policy=RemoteFile.of(channel, "retention.policy", retention.policy))
    if interpreter.rules is not None:
        interpreter = replace(
            interpreter, rules=RemoteFile.of(channel, "interpreter.rules", interpreter.rules)
        )
    alerts = config.alerts
    if alerts.rules is not None:
        alerts = replace(alerts, rules=RemoteFile.of(channel, "alerts.rules", alerts.rules))
    if config.warehouse is None:
        kept = RemoteFile.of(channel, "prices", config.data / FILE)
        prices = replace(config.prices, kept=kept)
    else:
        prices = config.prices
    return replace(config, retention=retention, interpreter=interpreter, prices=prices, alerts=alerts)


def _end_first() -> None:
    """Have the kernel end this process before the collector where memory runs out, if it keeps such an order."""
    try:
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
    except OSError:
        pass


def main(words: Sequence[str]) -> int:
    """Run with the words of the command line after the program's name."""
    parent, channel, listener, _, *more = map(int, words)
    end_with(parent, _FAILED)
    _end_first()
    # After that: what a closed process may do about itself in /proc, only root may.
    close_to_others()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    install()
    jaeger = socket.socket(fileno=more[0]) if more else None
    return WarehouseProcess(channel, socket.socket(fileno=listener), jaeger).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
