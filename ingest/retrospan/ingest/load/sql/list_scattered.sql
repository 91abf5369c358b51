-- title: where rows lie in several parts that are worth merging into one, the most worth it first
-- params: database String, most_bytes UInt64, least_bytes UInt64, most_parts UInt64
-- returns: table String, partition_id String, names Array(String)
SELECT
    table,
    partition_id,
    arraySort(groupArray(name)) AS names
FROM system.parts
WHERE active AND database = {database:String}
GROUP BY
    table,
    partition_id
HAVING
    count() BETWEEN 2 AND {most_parts:UInt64}
    AND sum(bytes_on_disk) <= {most_bytes:UInt64}
    AND sum(bytes_on_disk) - max(bytes_on_disk) >= greatest({least_bytes:UInt64}, intDiv(max(bytes_on_disk), 8))
ORDER BY
    sum(bytes_on_disk) - max(bytes_on_disk) DESC,
    table,
    partition_id
