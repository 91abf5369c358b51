"""The questions of the command line: one SQL file each, over the views of the contract.

The files lie in `retrospan/queries/questions`; each has a header (`-- title:`, `-- params:`, `-- returns:`) and one
statement whose values are `{name:Type}`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec

from retrospan.ingest.cli.client.collector_client import Parameter
from retrospan.schemas.literals import literal

_PLACEHOLDER = re.compile(r"\{(\w+):([^{}]+)\}")


def folder() -> str:
    """Return where the question files lie. Does not import `retrospan.queries`."""
    spec = find_spec("retrospan.queries")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("retrospan.queries is not installed")
    return os.path.join(next(iter(spec.submodule_search_locations)), "questions")


def statement(name: str) -> str:
    """Return the question's SQL without its header."""
    with open(os.path.join(folder(), f"{name}.sql"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    while lines and (lines[0].startswith("--") or not lines[0].strip()):
        lines.pop(0)
    return "\n".join(lines).strip().rstrip(";")


def with_values(sql: str, parameters: Mapping[str, Parameter]) -> str:
    """Return the statement with its `{name:Type}` replaced by literals, ready to paste."""

    def value(found: re.Match[str]) -> str:
        text = literal(parameters[found[1]])
        return f"toDateTime64({text}, 9, 'UTC')" if found[2].startswith("DateTime64") else text

    return _PLACEHOLDER.sub(value, sql)
