-- title: canonical decisions; one row mirrors retrospan.schemas.stated.DecisionRow
CREATE TABLE IF NOT EXISTS canon_decisions
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    step Nullable(UInt32),
    trace_id String,
    span_id String,
    name Nullable(String),
    options Nullable(String) CODEC(ZSTD(3)),
    chosen Nullable(String) CODEC(ZSTD(3)),
    rationale Nullable(String) CODEC(ZSTD(3)),
    confidence Nullable(Float64),
    agent_name Nullable(String),
    at DateTime64(9, 'UTC')
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, at)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
