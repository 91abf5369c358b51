-- title: canonical attempts; one row mirrors retrospan.schemas.canonical.AttemptRow
CREATE TABLE IF NOT EXISTS canon_attempts
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    step UInt32,
    tool_name Nullable(String),
    attempt UInt32,
    of_step Nullable(UInt32),
    backoff_ms Nullable(UInt64),
    error_type Nullable(String),
    status LowCardinality(String)
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, step)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
