"""A SPAN of the command line: which runs one side of a comparison holds."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from retrospan.ingest.cli.terminal.moments import TIME_HELP, parse_time

SPAN_HELP = (
    "SPAN is FROM..TO, version=VERSION, or both separated by a comma. Either time may be left out:\n"
    f"{TIME_HELP}; '7d' is 7 days ago.\n"
    "VERSION is that of the agent or of its service."
)


@dataclass(frozen=True, slots=True)
class Period:
    """Which runs one side holds; '' is open. Times as the view takes them."""

    start: str = ""
    end: str = ""
    version: str = ""


def span(text: str) -> Period:
    """Read a SPAN of the command line, as an argparse type."""
    start = end = version = ""
    for part in text.split(","):
        if part.startswith("version="):
            version = part.removeprefix("version=")
            if not version:
                raise argparse.ArgumentTypeError(f"'{text}' lacks a version after 'version='")
            continue
        earliest, dots, latest = part.partition("..")
        if not dots:
            raise argparse.ArgumentTypeError(
                f"'{text}' is not a SPAN: use FROM..TO, version=VERSION, or both separated by a comma"
            )
        start, end = _time(earliest), _time(latest)
    if start and end and start >= end:
        raise argparse.ArgumentTypeError(f"'{text}' ends before it begins")
    return Period(start, end, version)


def _time(text: str) -> str:
    if not text.strip():
        return ""
    try:
        return parse_time(text).clickhouse()
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
