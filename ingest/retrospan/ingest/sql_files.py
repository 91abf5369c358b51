"""SQL as source: one statement per file, in the folder `sql` of the package that runs it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def read_statement(package: str, name: str) -> str:
    """Return the text of NAME.sql in a package, its header with it."""
    return (files(package) / f"{name}.sql").read_text(encoding="utf-8")
