-- title: canonical values laid out for questions about one run: only their texts are compressed in large blocks
-- Replaced as a whole, with what it holds, where one process owns the warehouse.
CREATE OR REPLACE TABLE canon_values
(
    tenant LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    generation UInt64,
    number UInt32,
    kind LowCardinality(String),
    hash String CODEC(ZSTD(1)),
    role LowCardinality(String),
    first_call UInt32,
    json String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 4194304, max_compress_block_size = 16777216),
    elements Array(UInt32) CODEC(ZSTD(1)),
    INDEX by_hash hash TYPE bloom_filter GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, number)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
AS SELECT * FROM canon_values
