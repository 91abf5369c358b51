"""Finds the caller: the place in the program's own code, or in a package, that a call came from."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

_OURS = str(Path(__file__).parent)
#: Packages that only carry a request for somebody else.
_CARRIERS = frozenset(
    [
        "aiohttp",
        "anyio",
        "botocore",
        "grpc",
        "httpcore",
        "httpcore2",
        "httpx",
        "httpx2",
        "requests",
        "sniffio",
        "trio",
        "urllib3",
    ]
)
_PACKAGES = ("site-packages", "dist-packages")


def caller() -> str:
    """Return the innermost place outside the standard library and what only carries requests."""
    frame = sys._getframe(1)
    last = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_OURS):
            where = (
                f"{frame.f_globals.get('__name__', file)}.{frame.f_code.co_qualname} (line {frame.f_lineno})"
            )
            last = last or where
            package = _package_of(file)
            if package not in _CARRIERS and (package or not file.startswith(_standard())) and file[:1] != "<":
                return where
        back = frame.f_back
        if back is None:
            break
        frame = back
    return last or "nobody known"


def is_own(file: object) -> bool:
    """Tell whether a file is the program's own: of no installed package, not of Python, and not ours."""
    if not isinstance(file, str) or file.startswith((_OURS, *_standard())):
        return False
    return not _package_of(file)


@cache
def _standard() -> tuple[str, ...]:
    # Here: most replays refuse nothing.
    import sysconfig

    paths = sysconfig.get_paths()
    return paths["stdlib"], paths["platstdlib"]


def _package_of(file: str) -> str:
    """Return the installed package that a file is of, '' for none."""
    parts = Path(file).parts
    for name in _PACKAGES:
        if name in parts:
            at = len(parts) - 1 - parts[::-1].index(name)
            return Path(parts[at + 1]).stem if at + 1 < len(parts) else ""
    return ""
