-- title: say which runs a log's collector is about to delete; [] when it is done
-- params: log UInt32, run_ids Array(String), receipts UInt64 (the number of the last one before)
-- returns: nothing
INSERT INTO deletions (log, run_ids, receipts, version)
SELECT
    {log:UInt32},
    {run_ids:Array(String)},
    {receipts:UInt64},
    max(version) + 1
FROM deletions
WHERE log = {log:UInt32}
