-- title: canonical evaluations; one row mirrors retrospan.schemas.stated.EvaluationRow
CREATE TABLE IF NOT EXISTS canon_evaluations
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    step Nullable(UInt32),
    trace_id String,
    span_id String,
    name LowCardinality(Nullable(String)),
    score Nullable(Float64),
    label LowCardinality(Nullable(String)),
    explanation Nullable(String) CODEC(ZSTD(3)),
    judged Nullable(String),
    judge LowCardinality(Nullable(String)),
    response_id Nullable(String),
    error_type Nullable(String),
    at DateTime64(9, 'UTC')
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, at)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
