"""What is asked of the warehouse for Jaeger's clients. Every condition that may be left out has a value that says so."""

from __future__ import annotations

from functools import partial

from retrospan.ingest.sql_files import read_statement

load = partial(read_statement, __name__)
