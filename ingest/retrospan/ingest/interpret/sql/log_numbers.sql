-- title: the logs that fill this warehouse
-- params: none
-- returns: number
SELECT DISTINCT number
FROM logs
ORDER BY number
