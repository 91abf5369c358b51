"""Questions about runs: the SQL views, and the Python interface that returns them as DataFrames."""

from retrospan.queries.connect import Warehouse, connect

__all__ = ["Warehouse", "connect"]
