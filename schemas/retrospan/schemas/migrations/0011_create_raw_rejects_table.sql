-- title: what was refused or taken out of a request; read with FINAL
CREATE TABLE IF NOT EXISTS raw_rejects
(
    tenant LowCardinality(String),
    sequence UInt64,
    position UInt32,
    arrived_at DateTime64(9, 'UTC'),
    signal LowCardinality(String),
    spans UInt32,
    reason String,
    request_hash String,
    sample String
)
ENGINE = ReplacingMergeTree(sequence)
PARTITION BY toYYYYMMDD(arrived_at)
ORDER BY (tenant, sequence, position)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 10000, enable_block_number_column = 1, enable_block_offset_column = 1
