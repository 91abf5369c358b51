"""The statements of alerts."""

from __future__ import annotations

from functools import partial

from retrospan.ingest.sql_files import read_statement

load = partial(read_statement, __name__)
