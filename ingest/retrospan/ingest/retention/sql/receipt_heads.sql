-- title: the number of the last receipt of each log
-- params: none
-- returns: log UInt32, number UInt64
SELECT log, max(number) AS number
FROM receipts
GROUP BY log
ORDER BY log
