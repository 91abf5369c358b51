-- title: parts that the engine put aside because it could not read them
-- params: database String
-- returns: table String, reason String, parts UInt64
SELECT
    table,
    reason,
    count() AS parts
FROM system.detached_parts
WHERE database = {database:String}
GROUP BY table, reason
ORDER BY table, reason
