-- title: the partitions of a table of which every row was deleted
-- params: database String, table String, source Identifier (the same table)
-- returns: partition_id
SELECT DISTINCT partition_id
FROM system.parts
WHERE active
    AND database = {database:String}
    AND table = {table:String}
    AND NOT startsWith(partition_id, 'patch-')
    AND partition_id NOT IN (SELECT DISTINCT _partition_id FROM {source:Identifier})
ORDER BY partition_id
