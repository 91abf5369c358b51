-- title: the collectors that are about to delete something
-- params: run_ids Array(String) (only what concerns one of these; [] for whatever it is)
-- returns: log UInt32, begun_ns Int64 (Unix ns), receipts UInt64 (the number of the last one before)
SELECT
    log,
    toUnixTimestamp64Nano(begun_at) AS begun_ns,
    receipts
FROM deletions FINAL
WHERE notEmpty(run_ids) AND (empty({run_ids:Array(String)}) OR hasAny(run_ids, {run_ids:Array(String)}))
ORDER BY log
