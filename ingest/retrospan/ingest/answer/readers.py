"""The connections of readers, with the settings of every one: the engine's own limits behind the guard.

docs/decisions/0005-walls-around-sql.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Callable

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
HELPFUL: Settings = {"enable_join_runtime_filters_index_analysis": 1}
