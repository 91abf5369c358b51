"""Random lives of a write-ahead log and a ledger on a simulated disk: appends, rotations, power cuts, restarts.

`Life.play` plays one seed and returns every promise that was broken, as sentences; none for a log that keeps them:

- an acknowledged record is found again, at its sequence, with its bytes;
- so is a record that a reader was once shown as durable, acknowledged or not;
- nothing is found that was not appended, nothing twice, and sequences only rise;
- the ledger is found as it was when it last said that it is on disk, or as it was at a later moment.

The same seed plays the same life.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from retrospan.ingest.load.ledger import Batch, Ledger
from retrospan.ingest.log.commit_future import CommitFuture
from retrospan.ingest.log.record import decode
from retrospan.ingest.log.write_ahead_log import WriteAheadLog
from retrospan.schemas.errors import LogFailed, LogFull
from retrospan.torture.simulated_disk import PowerLoss, SimulatedDisk

_PATIENCE_SECONDS = 30.0


@dataclass(slots=True)
class Outcome:
    """The events of a life, and the promises it broke."""

    appended: int = 0
    acknowledged: int = 0
    cuts: int = 0
    kills: int = 0
    archived: int = 0
    broken: list[str] = field(default_factory=list)


def play_lives(directory: Path, seeds: Iterable[int]) -> Outcome:
    """Play a life for each seed in a new directory; each broken promise names its seed."""
    total = Outcome()
    for seed in seeds:
        directory.mkdir(parents=True)
        outcome = Life(directory, seed).play()
        shutil.rmtree(directory)
        total.appended += outcome.appended
        total.acknowledged += outcome.acknowledged
        total.cuts += outcome.cuts
        total.kills += outcome.kills
        total.archived += outcome.archived
        total.broken += [f"seed {seed}: {sentence}" for sentence in outcome.broken]
    return total


class Life:
    """One seed's log, ledger and disk, and what they have promised so far."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.outcome = Outcome()
        self._chance = random.Random(seed)
        self._root = directory
        self._disk = SimulatedDisk(directory, random.Random(f"disk {seed}"))
        self._segment_bytes = self._chance.choice((120, 300, 2000))
        self._written: set[bytes] = set()
        self._promised: dict[int, bytes] = {}
        self._ledgers: list[tuple[int, Batch | None]] = [(0, None)]
        self._epoch = 1
        self._counter = 0

    def play(self, restarts: int = 4) -> Outcome:
        """Live, end and come back, `restarts` times; the last time on an honest disk."""
        for number in range(restarts):
            last = number == restarts - 1
            self._disk.fuse = None if last or self._chance.random() < 0.2 else self._chance.randint(1, 60)
            try:
                self._live(0 if last else self._chance.randint(1, 12))
            except PowerLoss:
                pass
            if self._chance.random() < 0.7:
                self.outcome.cuts += 1
                self._disk.cut_power()
            else:
                self.outcome.kills += 1
            self._disk.switch_on()
        return self.outcome

    def _live(self, steps: int) -> None:
        ledger = Ledger.open(self._root / "log" / "batches.jsonl", self._disk)
        log = None
        try:
            self._check_ledger(ledger)
            log = WriteAheadLog.open(
                self._root / "log",
                segment_bytes=self._segment_bytes,
                low_water_bytes=0,
                loaded_sequence=ledger.loaded_sequence,
                files=self._disk,
            )
            self._check_log(log)
            for _ in range(steps):
                self._act(log, ledger)
        finally:
            if log is not None:
                log.close()
            try:
                ledger.close()
            except PowerLoss:
                pass

    def _act(self, log: WriteAheadLog, ledger: Ledger) -> None:
        kind, fault = self._chance.random(), self._chance.random()
        if fault < 0.05:
            self._disk.fail_syncs = 1
        elif fault < 0.1:
            self._disk.full = True
        try:
            if kind < 0.6:
                self._append(log, self._chance.choice((1, 1, 2, 5, 9)))
            elif kind < 0.82:
                self._load(log, ledger)
            elif kind < 0.94:
                if self._chance.random() < 0.5:
                    log.seal(ledger.loaded_sequence)
                while log.archive_next(ledger.loaded_sequence):
                    self.outcome.archived += 1
            else:
                self._check_log(log)
        except PowerLoss:
            raise
        except OSError:
            pass  # a full or failing disk: the loader and the archivist try again later
        finally:
            self._disk.full = False
            self._disk.fail_syncs = 0

    def _append(self, log: WriteAheadLog, count: int) -> None:
        """Append so that all but the first share one commit, and wait for every answer."""
        pending: list[tuple[bytes, CommitFuture]] = []
        self._disk.hold()
        try:
            for number in range(count):
                self._counter += 1
                body = b"%d " % self._counter + self._chance.randbytes(self._chance.choice((0, 5, 80, 700)))
                self._written.add(body)
                pending.append((body, log.append_later(tenant="default", traces=body)))
                if number == 0 and not self._disk.wait_held(pending[0][1]):
                    break
        except (LogFull, LogFailed) as refusal:
            if isinstance(refusal, LogFailed) and not pending:
                raise PowerLoss from refusal  # this log has ended; live on with a new one
        finally:
            self._disk.release()
        self.outcome.appended += len(pending)
        before = 0
        for body, answer in pending:
            try:
                sequence = answer.result(_PATIENCE_SECONDS)
            except (LogFull, LogFailed):
                continue
            if sequence <= before or sequence in self._promised:
                self._broke(f"sequence {sequence} was given out twice or out of order")
            before = sequence
            self._promised[sequence] = body
            self.outcome.acknowledged += 1

    def _load(self, log: WriteAheadLog, ledger: Ledger) -> None:
        """Play the loader: begin a batch, or mark the open one."""
        loaded, batch = ledger.loaded_sequence, ledger.open_batch
        if batch is not None:
            self._ledgers.append((batch.last, None))
            ledger.finish(batch)
        elif log.durable_sequence > loaded:
            last = log.durable_sequence
            if self._chance.random() < 0.3:
                last = self._chance.randint(loaded + 1, last)
            batch = Batch(first=loaded + 1, last=last, records=1, items=1, token=f"{loaded}-{last}")
            self._ledgers.append((loaded, batch))
            ledger.begin(batch)
            self._ledgers = [(loaded, batch)]
            if self._chance.random() < 0.7:
                self._load(log, ledger)

    def _check_ledger(self, ledger: Ledger) -> None:
        found = (ledger.loaded_sequence, ledger.open_batch)
        if ledger.epoch > self._epoch:
            self._epoch = ledger.epoch  # damaged: everything is loaded again
        elif found not in self._ledgers:
            self._broke(f"the ledger says {found} and should say one of {self._ledgers}")
        self._ledgers = [found]

    def _check_log(self, log: WriteAheadLog) -> None:
        found: dict[int, bytes] = {}
        after = 0
        while chunk := log.read(after, max_bytes=self._chance.choice((1, 200, 5000))):
            for frame in chunk.frames():
                record = decode(chunk.data[frame.body : frame.end])
                if record.sequence <= after:
                    self._broke(f"record {record.sequence} follows {after}")
                after = record.sequence
                found[after] = record.traces or b""
        for sequence, body in self._promised.items():
            if found.get(sequence) != body:
                what = "another" if sequence in found else "gone"
                self._broke(f"record {sequence} was durable and is {what}")
        for body in set(found.values()) - self._written:
            self._broke(f"a record appeared that nobody wrote: {body[:20]!r}")
        if len(set(found.values())) < len(found):
            self._broke("a record appeared twice")
        if found and log.durable_sequence != max(found):
            self._broke(f"the last record is {max(found)}, not {log.durable_sequence}")
        self._promised.update(found)

    def _broke(self, sentence: str) -> None:
        self.outcome.broken.append(sentence)
