-- title: traces in which a span may lie in several rows: sent again, or with different contents; read with any rows of it
-- A trace may be named here for nothing, but none is left out: readers choose among rows only in these traces.
CREATE TABLE IF NOT EXISTS raw_resent
(
    tenant LowCardinality(String),
    trace_id String,
    arrived_at DateTime64(9, 'UTC')
)
ENGINE = ReplacingMergeTree(arrived_at)
ORDER BY (tenant, trace_id)
SETTINGS index_granularity = 8192, fsync_after_insert = 1, fsync_part_directory = 1, enable_block_number_column = 1, enable_block_offset_column = 1
