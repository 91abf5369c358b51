"""The archive: sealed segments whose records are all loaded, compressed, and read like any other.

    DATA/log/archive/<first sequence>-<last sequence>.seg.zst      one zstd frame with its checksum

A segment is compressed, synced, read back from the disk and compared byte for byte before the archive gets its name;
only then may the plain file go. A crash leaves both at worst, and then the plain one counts. A damaged archive gives
back what comes before the damage; each record's own checksum says what is whole.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from retrospan.ingest.log.segment import Segment
from retrospan.ingest.machine.durable_files import Files
from retrospan.ingest.machine.operating_system import forget_cached, make_nameless_file

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DIRECTORY = "archive"
_NAME = re.compile(r"(\d{20})-(\d{20})\.seg\.zst")
_PIECE = 1 << 20
#: Agents send their whole history again and again: a long window finds it. 2^25 bytes is also what reading needs.
_OPTIONS: dict[int, int] = {
    zstd.CompressionParameter.compression_level: 3,
    zstd.CompressionParameter.window_log: 25,
    zstd.CompressionParameter.enable_long_distance_matching: 1,
    # Looked for more often than by default, and not where little repeats: a tenth smaller, for a tenth more time.
    zstd.CompressionParameter.ldm_hash_rate_log: 5,
    zstd.CompressionParameter.ldm_min_match: 32,
    zstd.CompressionParameter.checksum_flag: 1,
}


class ArchiveDiffers(OSError):
    """The data read back differs from what was compressed: the disk or the memory cannot be trusted."""


def archived_in(directory: Path) -> list[Segment]:
    """Return the archived segments of a log directory in order; of two that begin alike, the longer one."""
    folder = directory / DIRECTORY
    found: dict[int, Segment] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if (name := _NAME.fullmatch(path.name)) is None:
            continue
        with path.open("rb") as file:
            head = file.read(32)
        try:
            size = zstd.get_frame_info(head).decompressed_size or 0
        except zstd.ZstdError:
            size = 0
        first, last = int(name[1]), int(name[2])
        packed = path.stat().st_size or 1  # an emptied archive is still one
        found[first] = Segment(path=path, first=first, last=last, size=size, packed=packed)
    return list(found.values())


def pack(segment: Segment, files: Files, folder: Path | None = None) -> tuple[Path, int]:
    """Compress a sealed segment into the archive; returns where it lies and its size there, once both are durable.

    An archive of the same records is replaced, whole or not at all. `folder` is the archive's, for a segment that lies
    elsewhere than beside it.

    Raises:
        ArchiveDiffers: what was read back is not what was written. The segment is untouched.
        OSError: the disk refused. The segment is untouched.
    """
    folder = folder or segment.path.parent / DIRECTORY
    files.make_directory(folder)
    target = folder / f"{segment.first:020d}-{segment.last:020d}.seg.zst"
    temporary = target.with_name(target.name + ".new")
    if temporary.exists():
        files.remove(temporary)
    try:
        descriptor = files.create(temporary)
        try:
            for part in _compressed(segment):
                files.append(descriptor, [part])
            files.sync(descriptor)
        finally:
            files.close(descriptor)
        _compare(temporary, segment)
        packed = temporary.stat().st_size
        files.rename(temporary, target)
    except OSError:
        with suppress(OSError):
            files.remove(temporary)
        raise
    for other in folder.glob(f"{segment.first:020d}-*.seg.zst"):
        if other != target:
            files.remove(other)
    return target, packed


def unpack(segment: Segment) -> int:
    """Return an archived segment's bytes as an open, nameless file in memory; the caller closes it.

    Of a damaged archive what comes before the damage, and zeros up to the segment's size.
    """
    descriptor = make_nameless_file("retrospan-archived-segment")
    with open(descriptor, "r+b", buffering=0, closefd=False) as memory:
        try:
            memory.writelines(_plain(segment.path))
        except (zstd.ZstdError, EOFError):
            pass  # the records behind do not hold together, and whoever reads them says so
        memory.truncate(segment.size)
    return descriptor


@contextmanager
def opened(segment: Segment) -> Iterator[int]:
    """Return a descriptor of a segment's own bytes, archived or not."""
    descriptor = unpack(segment) if segment.packed else os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _compressed(segment: Segment) -> Iterator[bytes]:
    compressor = zstd.ZstdCompressor(options=_OPTIONS)
    compressor.set_pledged_input_size(segment.size)
    with segment.path.open("rb") as file:
        left = segment.size
        while left and (piece := file.read(min(left, _PIECE))):
            left -= len(piece)
            if part := compressor.compress(piece):
                yield part
    yield compressor.flush()


def _plain(path: Path) -> Iterator[bytes]:
    """Raise EOFError or ZstdError where the archive is damaged."""
    with zstd.open(path, "rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _compare(archived: Path, segment: Segment) -> None:
    with archived.open("rb") as file:
        # Read what the disk has, not what the kernel remembers having written.
        forget_cached(file.fileno())
    compared = 0
    with segment.path.open("rb") as plain:
        try:
            for piece in _plain(archived):
                if plain.read(len(piece)) != piece:
                    break
                compared += len(piece)
        except (zstd.ZstdError, EOFError):
            pass
    if compared != segment.size:
        raise ArchiveDiffers(f"{archived} differs from {segment.path} after {compared} bytes")
