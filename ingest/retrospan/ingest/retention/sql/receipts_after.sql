-- title: receipts of one log in their order, from a number on
-- params: log UInt32, number UInt64 (the last that is known), limit UInt64
-- returns: tenant, number, what, subject, trace_ids, last_arrival Int64 (Unix ns), run_class
SELECT
    tenant,
    number,
    what,
    subject,
    trace_ids,
    toUnixTimestamp64Nano(last_arrival) AS last_arrival,
    run_class
FROM receipts FINAL
WHERE log = {log:UInt32} AND number > {number:UInt64}
ORDER BY number
LIMIT {limit:UInt64}
