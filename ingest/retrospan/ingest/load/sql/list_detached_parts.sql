-- title: parts that the engine put aside because it could not read them, one by one
-- params: database String
-- returns: table String, part String
SELECT
    table,
    name AS part
FROM system.detached_parts
WHERE database = {database:String}
ORDER BY table, part
