-- title: parts that questions read, of those that were written at a time or later
-- params: database String, since DateTime
-- returns: table String, path String, size UInt64
SELECT
    table,
    path,
    bytes_on_disk AS size
FROM system.parts
WHERE active AND database = {database:String} AND modification_time >= {since:DateTime}
ORDER BY table, path
