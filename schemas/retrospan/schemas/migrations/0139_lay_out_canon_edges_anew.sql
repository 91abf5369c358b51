-- title: canonical edges laid out for questions about one run: granules of 1,024 rows, ids and hashes compressed better
-- Replaced as a whole, with what it holds, where one process owns the warehouse; elsewhere it is made so at once.
CREATE OR REPLACE TABLE canon_edges
(
    tenant LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    generation UInt64,
    subject String CODEC(ZSTD(1)),
    relation LowCardinality(String),
    object String CODEC(ZSTD(1)),
    role LowCardinality(Nullable(String)),
    evidence LowCardinality(String),
    step Nullable(UInt32),
    at DateTime64(9, 'UTC'),
    INDEX by_subject subject TYPE bloom_filter GRANULARITY 1,
    INDEX by_object object TYPE bloom_filter GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, subject, relation, object)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
AS SELECT * FROM canon_edges
