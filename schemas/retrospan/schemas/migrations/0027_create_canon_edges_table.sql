-- title: canonical edges; one row mirrors retrospan.schemas.canonical.EdgeRow
CREATE TABLE IF NOT EXISTS canon_edges
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    subject String,
    relation LowCardinality(String),
    object String,
    role LowCardinality(Nullable(String)),
    evidence LowCardinality(String),
    step Nullable(UInt32),
    at DateTime64(9, 'UTC'),
    INDEX by_subject subject TYPE bloom_filter GRANULARITY 1,
    INDEX by_object object TYPE bloom_filter GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, subject, relation, object)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
