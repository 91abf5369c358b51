"""The warehouse: ClickHouse, embedded or a server, behind one interface (`warehouse.Warehouse`).

It knows tables only by name. To open one, use `retrospan.ingest.open_warehouse`.
"""
