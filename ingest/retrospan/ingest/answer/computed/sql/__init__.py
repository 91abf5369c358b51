"""The lookups, each keyed: none reads more than what it is asked for."""

from __future__ import annotations

from functools import partial

from retrospan.ingest.sql_files import read_statement

load = partial(read_statement, __name__)
