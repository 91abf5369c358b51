-- title: the chains that there are: of each log its receipts, and the newest epoch of its batches
-- params: none
-- returns: chain String (batches or receipts), log UInt32, epoch UInt32
SELECT 'batches' AS chain, log, max(epoch) AS epoch FROM loaded_batches GROUP BY log
UNION ALL
SELECT 'receipts' AS chain, log, 0 AS epoch FROM receipts GROUP BY log
ORDER BY chain, log
