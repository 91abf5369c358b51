-- title: flags and holds of runs, each change a row; the newest of a run and mark counts
CREATE TABLE IF NOT EXISTS run_marks
(
    tenant LowCardinality(String),
    run_id String,
    mark LowCardinality(String),
    at DateTime64(9, 'UTC'),
    sequence UInt64,
    is_set Bool,
    until Nullable(DateTime64(9, 'UTC')),
    reason String,
    by String
)
ENGINE = ReplacingMergeTree
ORDER BY (tenant, run_id, mark, at, sequence)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, enable_block_number_column = 1, enable_block_offset_column = 1
