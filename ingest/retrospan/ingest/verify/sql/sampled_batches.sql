-- title: some batches of an epoch, drawn by a seed
-- params: log UInt32, epoch UInt32, seed UInt64, limit UInt64
-- returns: first_record, last_record, items
SELECT DISTINCT
    first_record,
    last_record,
    items
FROM loaded_batches
WHERE log = {log:UInt32} AND epoch = {epoch:UInt32} AND records > 0
ORDER BY sipHash64(number, {seed:UInt64})
LIMIT {limit:UInt64}
