-- title: processes of agents, one row each after merging: when each was last heard of, and whether it is known to be dead
CREATE TABLE IF NOT EXISTS processes
(
    tenant LowCardinality(String),
    process_id String,
    pid SimpleAggregateFunction(max, Int64),
    last_alive_at SimpleAggregateFunction(max, DateTime64(9, 'UTC')),
    interval_seconds SimpleAggregateFunction(max, Float64),
    killed_at SimpleAggregateFunction(max, DateTime64(9, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (tenant, process_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1, enable_block_number_column = 1, enable_block_offset_column = 1
