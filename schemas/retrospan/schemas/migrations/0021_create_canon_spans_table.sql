-- title: canonical spans; one row mirrors retrospan.schemas.canonical.SpanRow
CREATE TABLE IF NOT EXISTS canon_spans
(
    tenant LowCardinality(String),
    trace_id String,
    span_id String,
    generation UInt64,
    run_id String,
    operation LowCardinality(String),
    dialect LowCardinality(String),
    rendered Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    INDEX by_run_id run_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(generation)
ORDER BY (tenant, trace_id, span_id)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
