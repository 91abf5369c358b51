"""Opening a log: what its directory holds, and what is done about damage.

- A tail without any whole record behind it is cut off the last segment and put aside as `<segment>.<offset>.torn`:
  it was most likely never acknowledged, but nobody can be sure, so its bytes are kept.
- A damaged record with whole ones behind it stays where it is and is left out of every read.
- Sequences that are nowhere to be found are counted as lost, also those that are known to have been loaded.
- A plain segment that is only the beginning of its archive is removed: it is a copy made while the segment was written.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from retrospan.ingest.log.archive import DIRECTORY, archived_in, opened
from retrospan.ingest.log.segment import Segment, Survey, begins_with, ends_with, segments_in, survey
from retrospan.ingest.log.tombstones import Tombstones
from retrospan.ingest.machine.durable_files import Files

_AT_ONCE = 4 << 20


@dataclass(slots=True)
class Recovery:
    """What was found and what was lost; all zero and '' for a log that was closed well.

    `cut_bytes` were taken off the end, `damaged_bytes` lie in the middle and are skipped, `lost_records` counts
    sequences that were once given out and are missing. `reason` says all of it in words.
    """

    records: int = 0
    cut_bytes: int = 0
    damaged_bytes: int = 0
    damaged_places: int = 0
    lost_records: int = 0
    reasons: list[str] = field(default_factory=list)

    @property
    def reason(self) -> str:
        return "; ".join(self.reasons)

    def note_damage(self, segment: Segment, ranges: list[tuple[int, int]]) -> None:
        """Count newly found damage in the middle of a segment."""
        for start, end in ranges:
            self.damaged_places += 1
            self.damaged_bytes += end - start
            self.reasons.append(f"{segment.path.name}: bytes {start} to {end} are damaged and skipped")


@dataclass(frozen=True, slots=True)
class Recovered:
    """The segments to go on with. `last_sequence` 0 and `last_arrived_at` 0 when there is no record."""

    segments: list[Segment]
    recovery: Recovery
    last_sequence: int
    last_arrived_at: int


def recover(directory: Path, files: Files, *, loaded_sequence: int = 0) -> Recovered:
    """Survey a log directory, cut a torn tail, and say what is there.

    Segments wholly at or below `loaded_sequence` are in the warehouse already; their checksums are verified when
    they are read again, not here, unless a plain segment does not end with the record before the next one. Where nothing
    was loaded the log may begin with any record.
    """
    recovery = Recovery()
    removed = Tombstones.read(directory / DIRECTORY)

    def gap(after: int, before: int) -> int:
        return removed.missing(after, before) if after or loaded_sequence else 0

    segments = _all_segments(directory, files, recovery, removed)
    last_sequence = last_arrived_at = 0
    for position, segment in enumerate(segments):
        newest = position == len(segments) - 1
        before = None if newest else segments[position + 1].first
        is_loaded = before is not None and before - 1 <= loaded_sequence and position < len(segments) - 2
        if before is not None and is_loaded and (segment.packed or _reaches(segment, before - 1)):
            segment.last = segment.last or before - 1
            _note_missing(recovery, segment, gap(last_sequence, segment.first))
            if segment.size == 0:
                _note_missing(recovery, segment, segment.last - segment.first + 1)
            last_sequence = segment.last
            continue
        if segment.packed:
            # Verified when it was archived, and again when it is read.
            _note_missing(recovery, segment, gap(last_sequence, segment.first))
            if segment.size == 0:
                _note_missing(recovery, segment, segment.last - segment.first + 1)
            last_sequence = segment.last
            continue
        with opened(segment) as descriptor:
            found = survey(descriptor, first=segment.first, before=before, size=segment.size)
        _note_gap(recovery, segment, found, gap(last_sequence, segment.first))
        if newest:
            _cut_tail(segment, found, files, recovery)
            if found.last is not None:
                # What is read from here on counts as durable, and a killed process may have left it unsynced.
                files.settle(segment.path)
        segment.bad = [each for each in found.bad if each[0] < segment.size]
        recovery.note_damage(segment, segment.bad)
        recovery.records += found.records
        if found.last is not None:
            segment.last = last_sequence = found.last.sequence
            last_arrived_at = max(last_arrived_at, found.last.arrived_at)
    if last_sequence < loaded_sequence and (lost := gap(last_sequence, loaded_sequence + 1)):
        recovery.lost_records += lost
        recovery.reasons.append(
            f"the log ends with record {last_sequence}, but records up to {loaded_sequence} were loaded: {lost} are missing"
        )
    kept = [segment for segment in segments if segment.last]
    for segment in segments:
        if not segment.last and segment.size == 0:
            files.remove(segment.path)
    if kept and not last_arrived_at:
        with opened(kept[-1]) as descriptor:
            end = survey(descriptor, first=kept[-1].first, before=None, size=kept[-1].size).last
        last_arrived_at = end.arrived_at if end is not None else 0
    return Recovered(kept, recovery, last_sequence, last_arrived_at)


def _all_segments(directory: Path, files: Files, recovery: Recovery, removed: Tombstones) -> list[Segment]:
    """Plain and archived segments in order. Of one that is there as both, the plain one counts, unless it is shorter:
    then the log was copied while the segment was written, and the archive after that. Were it left there, it would
    count again once retention has made the archive the shorter one.

    What a plain one holds is stated by its first record; its name, where that is damaged.
    """
    for unfinished in (directory / DIRECTORY).glob("*.new"):
        files.remove(unfinished)
    plain: dict[int, Segment] = {}
    for segment in segments_in(directory):
        named = segment.first
        with opened(segment) as descriptor:
            segment.first = begins_with(descriptor, segment.size) or named
        if segment.first != named:
            recovery.reasons.append(f"{segment.path.name} holds the records from {segment.first} on")
        if segment.first == named or segment.first not in plain:
            plain[segment.first] = segment
    archived: dict[int, Segment] = {}
    for segment in archived_in(directory):
        if removed.holds(segment.first, segment.last):
            files.remove(segment.path)  # it was to go when the process died
        else:
            archived[segment.first] = segment
    for first, segment in archived.items():
        if first in plain and plain[first].size < segment.size:
            shorter = plain.pop(first)
            if _begins_alike(shorter, segment):
                files.remove(shorter.path)
    return [segment for _, segment in sorted((archived | plain).items())]


def _reaches(segment: Segment, sequence: int) -> bool:
    """Whether a plain segment ends with a record: where it does not, the segment behind it may be missing."""
    with opened(segment) as descriptor:
        return ends_with(descriptor, segment.size, sequence)


def _begins_alike(shorter: Segment, archived: Segment) -> bool:
    with opened(shorter) as one, opened(archived) as other:
        for at in range(0, shorter.size, _AT_ONCE):
            length = min(_AT_ONCE, shorter.size - at)
            if os.pread(one, length, at) != os.pread(other, length, at):
                return False
    return True


def _note_gap(recovery: Recovery, segment: Segment, found: Survey, missing: int) -> None:
    """Count the sequences missing inside a segment, with those `missing` before it."""
    if found.last is not None:
        missing += found.last.sequence - segment.first + 1 - found.records
    _note_missing(recovery, segment, missing)


def _note_missing(recovery: Recovery, segment: Segment, missing: int) -> None:
    if missing > 0:
        recovery.lost_records += missing
        recovery.reasons.append(f"{segment.path.name}: {missing} records are missing")


def _cut_tail(segment: Segment, found: Survey, files: Files, recovery: Recovery) -> None:
    cut = segment.size - found.end
    if cut == 0:
        return
    with segment.path.open("rb") as file:
        file.seek(found.end)
        files.replace(segment.path.with_name(f"{segment.path.name}.{found.end}.torn"), file.read())
    files.truncate(segment.path, found.end)
    segment.size = found.end
    recovery.cut_bytes += cut
    recovery.reasons.append(f"{segment.path.name}: {cut} bytes cut from the torn end")
