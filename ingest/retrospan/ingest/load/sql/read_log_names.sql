-- title: the logs that have a number
-- params: number UInt32
-- returns: name
SELECT DISTINCT name
FROM log_identities
WHERE number = {number:UInt32}
ORDER BY name
