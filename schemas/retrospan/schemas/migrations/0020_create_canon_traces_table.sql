-- title: canonical traces; one row mirrors retrospan.schemas.canonical.TraceRow
CREATE TABLE IF NOT EXISTS canon_traces
(
    tenant LowCardinality(String),
    trace_id String,
    run_ids Array(String),
    joins String,
    claims Array(String),
    generation UInt64,
    through_sequence UInt64,
    interpreted_by LowCardinality(String),
    INDEX by_joins joins TYPE bloom_filter GRANULARITY 1,
    INDEX by_claims claims TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(generation)
ORDER BY (tenant, trace_id)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
