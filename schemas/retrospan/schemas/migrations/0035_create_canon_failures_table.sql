-- title: canonical failures; one row mirrors retrospan.schemas.canonical.FailureRow
CREATE TABLE IF NOT EXISTS canon_failures
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    step Nullable(UInt32),
    trace_id String,
    span_id String,
    origin LowCardinality(String),
    error_class LowCardinality(Nullable(String)),
    error_type Nullable(String),
    error_message Nullable(String) CODEC(ZSTD(3)),
    handled Bool,
    at DateTime64(9, 'UTC')
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
