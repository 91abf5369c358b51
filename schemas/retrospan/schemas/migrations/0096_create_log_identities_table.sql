-- title: the logs that fill this warehouse, and the interpreters that touch traces for each other; read with FINAL
CREATE TABLE IF NOT EXISTS log_identities
(
    number UInt32,
    name String,
    seen_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(seen_at)
ORDER BY (number, name)
SETTINGS enable_block_number_column = 1, enable_block_offset_column = 1
