-- title: a page of receipts as they are stored, in the order of their chain
-- params: log UInt32, number UInt64 (the last of the page before), limit UInt64
-- returns: the fields of retrospan.schemas.retention_tables.Receipt, in order
SELECT DISTINCT
    tenant,
    log,
    number,
    what,
    subject,
    run_class,
    rule,
    toUnixTimestamp64Nano(deleted_at) AS deleted_ns,
    by,
    toUnixTimestamp64Nano(last_arrival) AS last_arrival_ns,
    trace_ids,
    first_records,
    last_records,
    spans,
    log_records,
    arrivals,
    rows,
    bytes,
    content_hash,
    hash_after,
    previous_hash,
    receipt_hash
FROM receipts
WHERE log = {log:UInt32} AND number > {number:UInt64}
ORDER BY number
LIMIT {limit:UInt64} WITH TIES
