"""Segments as messages between the two processes: plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retrospan.ingest.log.segment import Segment


def segment_message(segment: Segment, directory: Path) -> dict[str, object]:
    """Return a segment of a log's directory, for the other process."""
    return {
        "path": str(segment.path.relative_to(directory)),
        "first": segment.first,
        "last": segment.last,
        "size": segment.size,
        "packed": segment.packed,
        "bad": segment.bad,
        "sealed": segment.is_sealed,
    }


def segments_of(told: Sequence[Mapping[str, Any]], directory: Path) -> list[Segment]:
    """Return the segments that the writing process told of."""
    return [
        Segment(
            path=directory / each["path"],
            first=each["first"],
            last=each["last"],
            size=each["size"],
            packed=each["packed"],
            bad=[(start, end) for start, end in each["bad"]],
            is_sealed=each["sealed"],
        )
        for each in told
    ]


def archived_path(told: object, directory: Path) -> Path | None:
    """Return where the process that follows says that a segment lies now; None when it says that it is gone.

    Raises ValueError for anything but a name directly below the log's directory or its archive.
    """
    if told is None:
        return None
    path = Path(str(told))
    if path.is_absolute() or ".." in path.parts or len(path.parts) > 2:
        raise ValueError(f"{str(told)[:100]!r} is not a segment of the log")
    return directory / path
