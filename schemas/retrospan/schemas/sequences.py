"""Numbers of log records in a warehouse that several logs fill: the log's number, then the record's in its log. Pure.

    sequence = log << 40 | number of the record in that log

An embedded warehouse has one log, number 0: there a sequence is the record's number. Sequences of different logs are
not in order of time, so what was read of a trace is kept for each log.
"""

from __future__ import annotations

from collections.abc import Iterable

LOG_SHIFT = 40
MOST_LOGS = 1 << 24

#: The highest sequence of each log, ascending.
Newest = tuple[int, ...]


def base_of(log_number: int) -> int:
    """Return what is added to a record's number in this log."""
    return log_number << LOG_SHIFT


def newest_of(sequences: Iterable[int]) -> Newest:
    """Return the highest of each log."""
    highest: dict[int, int] = {}
    for sequence in sequences:
        log = sequence >> LOG_SHIFT
        highest[log] = max(sequence, highest.get(log, 0))
    return tuple(sorted(highest.values()))
