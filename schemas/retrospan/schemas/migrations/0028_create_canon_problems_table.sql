-- title: canonical problems; one row mirrors retrospan.schemas.canonical.ProblemRow
CREATE TABLE IF NOT EXISTS canon_problems
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    span_id Nullable(String),
    field String,
    raw String CODEC(ZSTD(3)),
    reason String
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
