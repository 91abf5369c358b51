-- title: receipts of deletions; one row mirrors retrospan.schemas.retention_tables.Receipt
-- What it says of the records is what a rebuild needs to leave out again what was deleted.
CREATE TABLE IF NOT EXISTS receipts
(
    tenant LowCardinality(String),
    log UInt32,
    number UInt64,
    what LowCardinality(String),
    subject String,
    run_class LowCardinality(String),
    rule String,
    deleted_at DateTime64(9, 'UTC'),
    by String,
    last_arrival DateTime64(9, 'UTC'),
    trace_ids Array(String),
    first_records Array(UInt64),
    last_records Array(UInt64),
    spans UInt64,
    log_records UInt64,
    arrivals UInt64,
    rows UInt64,
    bytes UInt64,
    content_hash String,
    hash_after String,
    previous_hash String,
    receipt_hash String
)
ENGINE = ReplacingMergeTree
ORDER BY (log, number)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, enable_block_number_column = 1, enable_block_offset_column = 1
