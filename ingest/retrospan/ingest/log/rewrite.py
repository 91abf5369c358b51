"""Rewrites a segment of the archive without some of its records' content.

The new content lies beside the archive as a plain file until it is packed in the old one's place. A process that dies
before that leaves the old archive as it was: recovery removes the plain file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from retrospan.ingest.log.archive import opened
from retrospan.ingest.log.segment import Segment
from retrospan.ingest.log.segment_reader import read_frames
from retrospan.ingest.machine.durable_files import Files

_AT_ONCE = 4 << 20


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The rewritten content of a segment. `path` is the plain file with it; None if nothing is left.

    `intact` is how many bytes could be read: fewer than the segment has when it is damaged, and then nothing is changed.
    """

    segment: Segment
    path: Path | None
    size: int
    hash_before: str
    hash_after: str
    changed: bool
    intact: int


def rewrite(segment: Segment, change: Callable[[bytes], bytes | None], files: Files) -> Rewritten:
    """Write what `change` makes of each record into a new file, and leave the archive as it is.

    `change` gets a record without its length and returns a whole one with its length, b"" to keep it as it is, or None
    to leave it out. A segment with damage in it is not changed.
    """
    path = segment.path.with_name(segment.path.name + ".plain.new")
    before, after = hashlib.sha256(), hashlib.sha256()
    size, at, changed = 0, 0, False
    if path.exists():
        files.remove(path)
    target = files.create(path)
    is_whole = False
    try:
        with opened(segment) as descriptor:
            while at < segment.size:
                chunk, intact = read_frames(descriptor, at, segment.size, None, _AT_ONCE)
                if chunk is None or not intact:
                    changed = False
                    break
                parts: list[bytes] = []
                for frame in chunk.frames():
                    whole = chunk.data[frame.start : frame.end]
                    made = change(chunk.data[frame.body : frame.end])
                    parts.append(whole if made == b"" else made or b"")
                    changed = changed or made != b""
                data = b"".join(parts)
                before.update(chunk.data)
                after.update(data)
                if data:
                    files.append(target, [data])
                size += len(data)
                at += len(chunk.data)
        files.sync(target)
        is_whole = True
    finally:
        files.close(target)
        if not is_whole:  # on a full disk above all, half of it must not stay
            files.remove(path)
    if not changed or not size:
        files.remove(path)
    digest = after.hexdigest() if size else ""
    return Rewritten(
        segment, path if changed and size else None, size, before.hexdigest(), digest, changed, at
    )


def drop(rewritten: Rewritten, files: Files) -> None:
    """Let the new content go again."""
    if rewritten.path is not None and os.path.exists(rewritten.path):
        files.remove(rewritten.path)
