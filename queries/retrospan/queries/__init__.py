"""Questions about runs: the SQL views, and the Python interface that returns them as DataFrames."""

from retrospan.queries.connect import Views, connect

__all__ = ["Views", "connect"]
