-- title: the batches of the log that were loaded, chained by hash; one row mirrors retrospan.schemas.retention_tables.LoadedBatch
CREATE TABLE IF NOT EXISTS loaded_batches
(
    tenant LowCardinality(String),
    log UInt32,
    epoch UInt32,
    number UInt64,
    first_record UInt64,
    last_record UInt64,
    records UInt64,
    items UInt64,
    bytes UInt64,
    content_hash String,
    loaded_at DateTime64(9, 'UTC'),
    previous_hash String,
    batch_hash String
)
ENGINE = ReplacingMergeTree(loaded_at)
ORDER BY (log, epoch, number)
SETTINGS enable_block_number_column = 1, enable_block_offset_column = 1
