-- title: canonical compactions of the context; one row mirrors retrospan.schemas.stated.CompactionRow
CREATE TABLE IF NOT EXISTS canon_compactions
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    step Nullable(UInt32),
    trace_id String,
    span_id String,
    model_call UInt32,
    kind LowCardinality(Nullable(String)),
    tokens_before Nullable(UInt64),
    tokens_after Nullable(UInt64),
    at DateTime64(9, 'UTC')
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, model_call)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
