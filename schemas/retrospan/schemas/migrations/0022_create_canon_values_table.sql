-- title: canonical values; one row mirrors retrospan.schemas.canonical.ValueRow
CREATE TABLE IF NOT EXISTS canon_values
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    number UInt32,
    kind LowCardinality(String),
    hash String,
    role LowCardinality(String),
    first_call UInt32,
    json String CODEC(ZSTD(3)),
    elements Array(UInt32) CODEC(ZSTD(1)),
    INDEX by_hash hash TYPE bloom_filter GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, number)
SETTINGS index_granularity = 1024, min_compress_block_size = 4194304, max_compress_block_size = 16777216, enable_block_number_column = 1, enable_block_offset_column = 1
