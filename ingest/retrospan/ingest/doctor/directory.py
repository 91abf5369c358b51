"""A data directory that no process is using: its log, its ledger, and its tables. Nothing of it is changed.

The directory is claimed while it is looked at, so that no collector starts meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from retrospan.ingest.doctor.finding import Finding, failed, ok, warning
from retrospan.ingest.doctor.machine import check_arrival, way_out
from retrospan.ingest.doctor.running import check_migrations, check_quarantine, check_tables
from retrospan.ingest.load import checking
from retrospan.ingest.load.ledger import Ledger
from retrospan.ingest.log.archive import DIRECTORY, archived_in, opened
from retrospan.ingest.log.directory import claim, require_own
from retrospan.ingest.log.segment import Segment, segments_in, survey
from retrospan.ingest.log.tombstones import Tombstones
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import ConfigError, DirectoryInUse, RetrospanError, SchemaTooNew
from retrospan.schemas.migrate import Migrations

#: So much of the log is read, from its end.
MOST_BYTES = 1 << 30
_MOST_NAMED = 3
_LOST = "check the disk; put the file back from a backup, or move it away: its records count as lost then"


def check_directory(data: Path, *, engine: bool) -> Iterator[Finding]:
    """Yield the findings about a directory; of one that a process uses, only that. `engine` opens the tables too."""
    if not (data / "log").is_dir():
        yield ok("data", f"nothing was stored in {data.absolute()} yet")
        return
    try:
        require_own(data)
    except ConfigError as error:
        yield failed("data", str(error), "run doctor as the collector's user")
        return
    try:
        claimed = claim(data)
    except DirectoryInUse as error:
        holder = f"pid {error.pid}" if error.pid else "another process"
        yield warning(
            "data",
            f"{data.absolute()} is in use by {holder}, and was not opened",
            "set RETROSPAN_URL to the sql= address of its ready line, as http://HOST:PORT",
        )
        return
    except OSError as error:
        yield failed("data", f"{data} cannot be opened: {error.strerror}", way_out(error))
        return
    with claimed:
        yield ok("data", f"{data.absolute()} is not in use")
        yield from _log(data / "log")
        ledger = Ledger.look(data / "log" / "batches.jsonl")
        if missing := _missing(data / "log", ledger.loaded_sequence):
            yield failed(
                "log",
                f"{missing:,} records are missing that were there once; {ledger.loaded_sequence:,} were loaded",
                "put the files of log/ back from a backup, or note in log/archive/removed that they went on purpose",
            )
        if ledger.damaged_lines:
            yield warning(
                "ledger",
                f"{ledger.damaged_lines:,} lines are damaged",
                "nothing to do: the next start loads the log again",
            )
        yield check_quarantine(len(ledger.quarantined))
        if engine and (data / "warehouse").is_dir():
            yield from _tables(data / "warehouse", ledger)


def _log(directory: Path) -> Iterator[Finding]:
    archived = archived_in(directory)
    both = {segment.first: segment for segment in archived}
    for segment in segments_in(directory):
        if segment.first not in both or segment.size >= both[segment.first].size:
            both[segment.first] = segment  # as a start has it
    segments = [both[first] for first in sorted(both)]
    left = MOST_BYTES
    read = records = damaged = cut = last_arrived = 0
    places: list[str] = []
    for segment, following in reversed(list(zip_longest(segments, segments[1:]))):
        if segment.size > left:
            break
        left -= segment.size
        before = following.first if following is not None else segment.last + 1 if segment.packed else None
        try:
            with opened(segment) as descriptor:
                found = survey(descriptor, first=segment.first, before=before, size=segment.size)
        except OSError as error:
            yield failed("log", f"{segment.place} cannot be read: {error.strerror}", _LOST)
            continue
        read += 1
        records += found.records
        last_arrived = max(last_arrived, found.last.arrived_at if found.last else 0)
        torn = segment.size - found.end if before is None else 0
        cut += torn
        spoilt = sum(end - start for start, end in found.bad) - torn
        damaged += spoilt
        if spoilt:
            places.append(f"{segment.place} from byte {found.bad[0][0]:,} on")
        elif segment.packed and not segment.size:
            places.append(f"{segment.place}, which is empty or no archive")
    said = f"{read} of {len(segments)} segments read, {records:,} records; {len(archived)} in the archive"
    if places:
        more = f" and {len(places) - _MOST_NAMED:,} more" if len(places) > _MOST_NAMED else ""
        named = "; ".join(reversed(places[-_MOST_NAMED:]))
        yield warning(
            "log",
            f"{said}; {damaged:,} bytes are damaged and will be skipped: {named}{more}",
            "check the disk, and put these files back from a backup; the rest is loaded",
        )
    elif cut:
        yield warning(
            "log",
            f"{said}; {cut:,} bytes at the end are an incomplete record and will be cut off",
            "nothing to do if the machine or the collector was killed: these bytes were never acknowledged",
        )
    else:
        yield ok("log", said)
    yield check_arrival(last_arrived or _last_archived(directory))


def _last_archived(directory: Path) -> int:
    """Return when the last record of the archive arrived, in Unix ns; 0 without one."""
    archived = archived_in(directory)
    if not archived:
        return 0
    newest = archived[-1]
    with opened(newest) as descriptor:
        last = survey(descriptor, first=newest.first, before=newest.last + 1, size=newest.size).last
    return last.arrived_at if last is not None else 0


def _missing(directory: Path, loaded: int) -> int:
    """Return how many records are gone, by the names of the files and by what is known to be loaded."""
    removed = Tombstones.read(directory / DIRECTORY)
    # Of one that is there as both, the archive: its name tells where it ends.
    both = {segment.first: segment for segment in (*segments_in(directory), *archived_in(directory))}
    segments = [both[first] for first in sorted(both)]
    missing = last = 0
    for segment, following in zip_longest(segments, segments[1:]):
        if last or loaded:
            missing += removed.missing(last, segment.first)
        last = segment.last or (following.first - 1 if following is not None else _end_of(segment))
    return missing + (removed.missing(last, loaded + 1) if last < loaded else 0)


def _end_of(segment: Segment) -> int:
    with opened(segment) as descriptor:
        last = survey(descriptor, first=segment.first, before=None, size=segment.size).last
    return last.sequence if last is not None else segment.first - 1


def _tables(path: Path, ledger: Ledger) -> Iterator[Finding]:
    warehouse = EmbeddedWarehouse(path)
    try:
        store = warehouse.connect()
        pending = Migrations(store).pending()
        yield check_migrations(len(pending))
        if not pending:
            found = checking.check_tables(store, ledger.counted, buried=ledger.buried)
            yield check_tables(found.complaint, len(checking.detached_parts(store)))
    except SchemaTooNew as error:
        yield failed("migrations", str(error), "install the release that wrote it, or a later one")
    except RetrospanError as error:
        yield failed(
            "tables", f"cannot be opened: {str(error)[:300]}", "retrospan rebuild, once a collector runs"
        )
    finally:
        warehouse.close()
