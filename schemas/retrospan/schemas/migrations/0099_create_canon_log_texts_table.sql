-- title: canonical texts of log records; one row mirrors retrospan.schemas.canonical.LogTextRow
CREATE TABLE IF NOT EXISTS canon_log_texts
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    trace_id String,
    span_id String,
    record String,
    body String CODEC(ZSTD(3)),
    attributes Map(LowCardinality(String), String) CODEC(ZSTD(3))
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
