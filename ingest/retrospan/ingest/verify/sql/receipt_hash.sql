-- title: the hash of one receipt
-- params: log UInt32, number UInt64
-- returns: receipt_hash
SELECT DISTINCT receipt_hash
FROM receipts
WHERE log = {log:UInt32} AND number = {number:UInt64}
