"""The connections of readers, with the settings of every one: the engine's own limits behind the guard.

docs/decisions/0005-walls-around-sql.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from retrospan.ingest.settings.config import Limits
from retrospan.schemas.store import Settings, Store

#: Gives a connection that sees what is a tenant's.
ReaderOf = Callable[[str], Store]

#: The engine looks at the clock between blocks; its own 65,409 rows are eight times as long without a look.
BLOCK_ROWS = 8192

READERS: Settings = {
    "allow_ddl": 0,
    # Both are 1 in the embedded engine: addresses of its code, and variables of the Python around it.
    "allow_introspection_functions": 0,
    "allow_python_table_function": 0,
    # Compiling a set of patterns takes as long as it takes: no limit of time is looked at meanwhile.
    "allow_hyperscan": 0,
    "function_range_max_elements_in_block": 50_000_000,
}

#: What makes answers cheaper and changes none, for engines that know it: what a join looks for is looked up in the key of
#: the table, so that the log records of one run are found without reading where those of all runs are.
#: Formatted by several threads, 300 MB of wide rows took 650 MB of memory; by one thread they take 60 MB, and less time.
HELPFUL: Settings = {
    "enable_join_runtime_filters_index_analysis": 1,
    "output_format_parallel_formatting": 0,
}


def bounds(limits: Limits) -> dict[str, float]:
    """Return what holds each query to the limits, by setting."""
    return {
        "max_block_size": BLOCK_ROWS,
        "max_execution_time": limits.query_seconds,
        "max_memory_usage": limits.query_memory_bytes,
        "max_threads": limits.query_threads,
        "max_result_rows": limits.query_result_rows,
        "max_result_bytes": limits.query_result_bytes,
    }


def bounded(most: Mapping[str, float]) -> Settings:
    """Return the settings of a reader that only reads, within these bounds."""
    return {
        **{name: f"{bound:g}" if bound < 1e5 else int(bound) for name, bound in most.items()},
        **READERS,
        "result_overflow_mode": "throw",
        "timeout_overflow_mode": "throw",
        "readonly": 1,
    }
