-- title: a page of loaded batches of one epoch, in the order of their chain
-- params: log UInt32, epoch UInt32, number UInt64 (the last of the page before), limit UInt64
-- returns: the fields of retrospan.schemas.retention_tables.LoadedBatch, in order
SELECT DISTINCT
    tenant,
    log,
    epoch,
    number,
    first_record,
    last_record,
    records,
    items,
    bytes,
    content_hash,
    toUnixTimestamp64Nano(loaded_at) AS loaded_ns,
    previous_hash,
    batch_hash
FROM loaded_batches
WHERE log = {log:UInt32} AND epoch = {epoch:UInt32} AND number > {number:UInt64}
ORDER BY number
LIMIT {limit:UInt64} WITH TIES
