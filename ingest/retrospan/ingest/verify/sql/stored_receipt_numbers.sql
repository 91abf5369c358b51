-- title: the receipts of a log that are stored
-- params: log UInt32
-- returns: number
SELECT DISTINCT number
FROM receipts
WHERE log = {log:UInt32}
ORDER BY number
