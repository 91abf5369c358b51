"""SQL over HTTP, as ClickHouse speaks it: queries that can be stopped, under limits, and admin commands.

`sql_port.SqlPort` is the port. Each statement passes the `guard`, and may be `rewriting`'s to read less; `computed`
answers some views by keyed lookups. `jaeger` is a port of its own.
"""
