"""Delivers what dead agents left in a spool, in another process: the command `retrospan spool send`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from opentelemetry.sdk.resources import Resource

from retrospan.exporter.delivery.answers import Transport
from retrospan.exporter.delivery.cleaning import Cleaner
from retrospan.exporter.delivery.encoder import request_of
from retrospan.exporter.delivery.notices import NO_LOGS, Losses
from retrospan.exporter.delivery.outbox import Outbox
from retrospan.exporter.delivery.owners import Dead
from retrospan.exporter.delivery.pulse import killed
from retrospan.exporter.delivery.records import Signal
from retrospan.exporter.delivery.requests import ExportRequest
from retrospan.exporter.delivery.sender import Sender, cure_of
from retrospan.exporter.delivery.spool import Spool
from retrospan.exporter.endpoints import shown
from retrospan.exporter.operating_system import is_own, name_of_user
from retrospan.exporter.settings import Settings
from retrospan.schemas.errors import ConfigError, DirectoryInUse, NotFound

#: A collector that has answered is waited for so long.
_PATIENCE_SECONDS = 30.0
_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Estate:
    """What became of a spool's files."""

    spans: int
    records: int
    killed: int
    """Processes of which it was said that they were killed."""
    left: int
    """Requests that wait on."""
    lost: dict[str, int]
    """Spans and log records that the collector will never take, or that were damaged, by reason."""
    living: list[int]
    """Processes that use the directory and live: what they left there they deliver themselves."""
    trouble: str
    """Why requests are left, and what to do; '' where none are."""


def deliver(
    directory: Path,
    settings: Settings,
    make_transport: Callable[[], Transport],
    tell: Callable[[int, int], None],
) -> Estate:
    """Deliver what dead processes left in a spool, oldest first; `tell` hears how many requests are done, and of how
    many.

    Raises:
        NotFound, ConfigError: there is no such directory, or it is not this user's.
        DirectoryInUse: nothing in it was left by the dead, and somebody who lives uses it.
        OSError: it cannot be used.
    """
    _check(directory)
    spool = Spool(directory, settings.spool_bytes)
    found: list[Dead] = []

    def said_killed(dead: Dead) -> ExportRequest:
        found.append(dead)
        return request_of(killed(dead, Resource({})), Cleaner(None))

    outbox = Outbox(spool, lambda size: None, said_killed)
    try:
        outbox.adopt()
        living = spool.living()
        if not len(outbox) and living:
            raise DirectoryInUse(
                f"{directory} is used by a running process (pid {living[0]}), which delivers its files itself.",
                pid=living[0],
            )
        losses = {signal: Losses(signal.noun) for signal in Signal}
        sender = Sender(
            outbox,
            make_transport,
            shown(settings.endpoint),
            losses,
            lambda *_: None,
            keeps="there",
            probes=False,
        )
        _run(sender, outbox, tell)
        left = spool.waiting()
        return Estate(
            spans=sender.delivered[Signal.TRACES],
            # Those about the dead are not theirs.
            records=max(0, sender.delivered[Signal.LOGS] - len(found)),
            killed=len(found),
            left=left,
            lost=_sum(losses.values()),
            living=living,
            trouble=_trouble(sender) if left else "",
        )
    finally:
        outbox.close()


def _run(sender: Sender, outbox: Outbox, tell: Callable[[int, int], None]) -> None:
    """Let the sender work until all is delivered, or the collector is away, or silent for too long."""
    sender.encoded = lambda: True
    sender.closing.set()
    thread = threading.Thread(target=sender.run, name="retrospan-send", daemon=True)
    thread.start()
    done, moved_at = 0, time.monotonic()
    while thread.is_alive():
        thread.join(_LOOK_SECONDS)
        if sender.done != done:
            done, moved_at = sender.done, time.monotonic()
        tell(done, done + len(outbox))
        if sender.trouble is not None and time.monotonic() - moved_at > _PATIENCE_SECONDS:
            sender.given_up.set()
            sender.stir.set()


def _sum(losses: Iterable[Losses]) -> dict[str, int]:
    lost: dict[str, int] = {}
    for each in losses:
        for reason, number in each.by_reason().items():
            lost[reason] = lost.get(reason, 0) + number
    return lost


def _trouble(sender: Sender) -> str:
    if sender.trouble is not None:
        return f"{sender.trouble.reason}. {cure_of(sender.trouble)}"
    if sender.leaves_out(Signal.LOGS):
        return f"{NO_LOGS}, only spans. Send them to a collector of Retrospan."
    return "the delivery ended before its time."


def _check(directory: Path) -> None:
    if not directory.exists():
        raise NotFound(f"there is no directory {directory}.")
    if not directory.is_dir():
        raise ConfigError(f"{directory} is not a directory.")
    found = directory.stat()
    if not is_own(found):
        name = name_of_user(found.st_uid)
        raise ConfigError(
            f"{directory} belongs to the user {name}: only files of one's own user are sent. Run this as {name}."
        )
