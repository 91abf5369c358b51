"""The warehouse: ClickHouse, embedded or a server, behind one interface (`warehouse.Warehouse`).

Knows tables only by name. Who opens one uses `retrospan.ingest.open_warehouse`.
"""
