-- title: batches, the records of the log that were loaded together, chained by hash
-- params: none
-- returns:
--   tenant LowCardinality(String): owner of the records; '' if there are several
--   log UInt32: number of the log, 0 in an embedded warehouse
--   epoch UInt32: which loading of the log; a rebuild begins the next
--   number UInt64: place in the chain, from 1
--   first_record UInt64: first record of the log in it
--   last_record UInt64: last record of the log in it
--   records UInt64: how many records
--   items UInt64: spans and log records in them
--   bytes UInt64: their size in the log
--   content_hash String: SHA-256 of their bytes
--   loaded_at DateTime64(9, 'UTC'): when loading of them began
--   previous_hash String: batch_hash of the previous batch, '' for the first
--   batch_hash String: SHA-256 over all preceding columns
-- note: only the newest epoch of each log is shown; `retrospan verify` checks the chain.
-- example: SELECT number, records, items, loaded_at FROM batches ORDER BY log, number DESC LIMIT 10
SELECT
    b.tenant AS tenant,
    b.log AS log,
    b.epoch AS epoch,
    b.number AS number,
    b.first_record AS first_record,
    b.last_record AS last_record,
    b.records AS records,
    b.items AS items,
    b.bytes AS bytes,
    b.content_hash AS content_hash,
    b.loaded_at AS loaded_at,
    b.previous_hash AS previous_hash,
    b.batch_hash AS batch_hash
FROM loaded_batches AS b FINAL
INNER JOIN
(
    SELECT log, max(epoch) AS epoch
    FROM loaded_batches
    GROUP BY log
) AS newest ON newest.log = b.log AND newest.epoch = b.epoch
