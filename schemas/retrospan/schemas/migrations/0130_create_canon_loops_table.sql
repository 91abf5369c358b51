-- title: canonical loops; one row mirrors retrospan.schemas.canonical.LoopRow
-- With the arguments, so that a list of loops reads no tool calls.
CREATE TABLE IF NOT EXISTS canon_loops
(
    tenant LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    generation UInt64,
    agent_name Nullable(String),
    tool_name String,
    arguments_hash String CODEC(ZSTD(1)),
    arguments Nullable(String) CODEC(ZSTD(3)),
    repeats UInt64,
    first_step UInt32,
    last_step UInt32,
    same_result Bool,
    started_at Nullable(DateTime64(9, 'UTC'))
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, first_step)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
