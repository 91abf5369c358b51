-- title: canonical checkpoints; one row mirrors retrospan.schemas.stated.CheckpointRow
CREATE TABLE IF NOT EXISTS canon_checkpoints
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    step Nullable(UInt32),
    trace_id String,
    span_id String,
    checkpoint_id String,
    parent_id Nullable(String),
    trigger LowCardinality(Nullable(String)),
    at DateTime64(9, 'UTC')
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, at)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
