-- title: the last receipt of a log
-- params: log UInt32
-- returns: number, receipt_hash
SELECT number, receipt_hash
FROM receipts FINAL
WHERE log = {log:UInt32}
ORDER BY number DESC
LIMIT 1
