"""SQL over HTTP, as ClickHouse speaks it: the guard in front of the engine, queries that can be stopped, admin commands.

`sql_port.SqlPort` is the port; all other modules belong to it.
"""
