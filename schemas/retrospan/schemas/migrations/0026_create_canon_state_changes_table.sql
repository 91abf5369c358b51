-- title: canonical state changes; one row mirrors retrospan.schemas.canonical.StateChangeRow
CREATE TABLE IF NOT EXISTS canon_state_changes
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    step UInt32,
    key String,
    value UInt32,
    changed_at_step UInt32,
    span_id String
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, key, step)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
