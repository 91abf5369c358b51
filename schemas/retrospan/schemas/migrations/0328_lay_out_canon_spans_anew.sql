-- title: canonical spans keep each reading of a span until nobody reads it: a merge left the newest alone, also while it did not count
-- Replaced as a whole, with what it holds, where one process owns the warehouse; elsewhere it is made so at once.
CREATE OR REPLACE TABLE canon_spans
(
    tenant LowCardinality(String),
    trace_id String CODEC(ZSTD(1)),
    span_id String CODEC(ZSTD(1)),
    generation UInt64,
    run_id String CODEC(ZSTD(1)),
    operation LowCardinality(String),
    dialect LowCardinality(String),
    rendered Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    INDEX by_run_id run_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (tenant, trace_id, span_id, generation)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
AS SELECT * FROM canon_spans
