"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Result = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor: what was looked at, how it is, and, unless it is well, what to do about it."""

    check: str
    result: Result
    said: str
    todo: str = ""


def ok(check: str, said: str) -> Finding:
    """It is as it should be."""
    return Finding(check, "ok", said)


def warning(check: str, said: str, todo: str) -> Finding:
    """It works, and somebody should look at it."""
    return Finding(check, "warning", said, todo)


def failed(check: str, said: str, todo: str) -> Finding:
    """It does not work."""
    return Finding(check, "failed", said, todo)
