"""What a check found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Result = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor: what was looked at, how it is, and, unless it is well, what to do about it.

    `settings` are those in force by their key, each with `value` and `source`; only one finding has them.
    """

    check: str
    result: Result
    said: str
    todo: str = ""
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


def ok(check: str, said: str) -> Finding:
    """Return a finding that it is as it should be."""
    return Finding(check, "ok", said)


def warning(check: str, said: str, todo: str) -> Finding:
    """Return a finding that it works but needs attention."""
    return Finding(check, "warning", said, todo)


def failed(check: str, said: str, todo: str) -> Finding:
    """Return a finding that it does not work."""
    return Finding(check, "failed", said, todo)
