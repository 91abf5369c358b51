-- title: which runs each collector of a server is about to delete, one row for each log; read with FINAL
CREATE TABLE IF NOT EXISTS deletions
(
    log UInt32,
    run_ids Array(String),
    receipts UInt64,
    version UInt64,
    begun_at DateTime64(9, 'UTC') DEFAULT now64(9, 'UTC')
)
ENGINE = ReplacingMergeTree(version)
ORDER BY log
SETTINGS enable_block_number_column = 1, enable_block_offset_column = 1
