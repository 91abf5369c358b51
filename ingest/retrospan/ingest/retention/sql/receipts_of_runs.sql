-- title: receipts of some runs, beyond those that each log had
-- params: tenant String, run_ids Array(String), logs Array(UInt32), numbers Array(UInt64) (one for each log: the last that is left out)
-- returns: log UInt32, number UInt64, what, subject, deleted_ns Int64 (Unix ns)
SELECT
    log,
    number,
    what,
    subject,
    toUnixTimestamp64Nano(deleted_at) AS deleted_ns
FROM receipts FINAL
WHERE tenant = {tenant:String}
    AND what IN ('run', 'trace', 'payloads')
    AND subject IN {run_ids:Array(String)}
    AND number > transform(log, {logs:Array(UInt32)}, {numbers:Array(UInt64)}, toUInt64(0))
ORDER BY log, number
