-- title: the rows of a table as its parts hold them, and those that are visible
-- params: database String, table String, source Identifier (the same table)
-- returns: on_disk UInt64, visible UInt64
SELECT
    (
        SELECT sum(rows)
        FROM system.parts
        WHERE active
            AND database = {database:String}
            AND table = {table:String}
            AND NOT startsWith(partition_id, 'patch-')
    ) AS on_disk,
    (SELECT count() FROM {source:Identifier}) AS visible
