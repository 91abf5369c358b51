-- title: a page of the hashes of loaded batches of every epoch, in order of their records
-- params: log UInt32, first UInt64, epoch UInt32, number UInt64 (of the last of the page before), limit UInt64
-- returns: first_record, last_record, content_hash, epoch, number
SELECT DISTINCT
    first_record,
    last_record,
    content_hash,
    epoch,
    number
FROM loaded_batches
WHERE log = {log:UInt32} AND (first_record, epoch, number) > ({first:UInt64}, {epoch:UInt32}, {number:UInt64})
ORDER BY first_record, epoch, number
LIMIT {limit:UInt64} WITH TIES
