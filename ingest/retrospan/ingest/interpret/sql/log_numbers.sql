-- title: the logs that fill this warehouse
-- params: none
-- returns: number
SELECT DISTINCT number
FROM log_identities
ORDER BY number
