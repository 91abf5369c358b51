-- title: which traces each log record touched; read with FINAL
CREATE TABLE IF NOT EXISTS arrivals
(
    tenant LowCardinality(String),
    trace_id String,
    sequence UInt64,
    arrived_at DateTime64(9, 'UTC')
)
ENGINE = ReplacingMergeTree(sequence)
PARTITION BY toYYYYMMDD(arrived_at)
ORDER BY (sequence, tenant, trace_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 10000, enable_block_number_column = 1, enable_block_offset_column = 1
