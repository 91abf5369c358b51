-- title: tables that keep their rows in parts
-- params: database String
-- returns: name
SELECT name
FROM system.tables
WHERE database = {database:String} AND engine LIKE '%MergeTree'
ORDER BY name
