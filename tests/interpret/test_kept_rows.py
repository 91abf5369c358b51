"""The rows of every recording are those that are kept: a rule that changes them has to say so in its commit."""

from __future__ import annotations

from fix_recordings import Recording
from recordings.kept_rows import hashes_of, kept, recordings

TAKEN = True


def test_the_rows_are_those_that_are_kept(recording: Recording) -> None:
    """Where they differ on purpose: `cd tests && python -m recordings.kept_rows`."""
    assert hashes_of(recording) == kept()[recording.name]


def test_every_recording_is_kept() -> None:
    assert [recording.name for recording in recordings()] == list(kept())
