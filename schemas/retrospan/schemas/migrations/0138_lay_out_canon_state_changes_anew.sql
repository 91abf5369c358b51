-- title: canonical state changes laid out for questions about one run: granules of 1,024 rows, ids and hashes compressed better
-- Replaced as a whole, with what it holds, where one process owns the warehouse; elsewhere it is made so at once.
CREATE OR REPLACE TABLE canon_state_changes
(
    tenant LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    generation UInt64,
    step UInt32,
    key String,
    value UInt32,
    changed_at_step UInt32,
    span_id String CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, key, step)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
AS SELECT * FROM canon_state_changes
