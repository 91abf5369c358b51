-- title: canonical habits, what a run is compared with others by; one row mirrors retrospan.schemas.canonical.HabitRow
CREATE TABLE IF NOT EXISTS canon_habits
(
    tenant LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    generation UInt64,
    tools Array(LowCardinality(String))
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
