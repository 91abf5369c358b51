-- title: spans as sent: one row for each (tenant, trace, span, content); read with FINAL
-- Blocks are large where history repeats. Each stream of such a column takes a buffer of that size, so only there.
-- Merging by column and in small blocks takes half the memory where rows are large.
CREATE TABLE IF NOT EXISTS raw_spans
(
    tenant LowCardinality(String),
    trace_id String,
    span_id String,
    content_hash UInt128,
    sequence UInt64,
    arrived_at DateTime64(9, 'UTC'),
    parent_span_id String,
    trace_state String,
    flags UInt32,
    name LowCardinality(String),
    kind Int32,
    started_ns UInt64,
    ended_ns UInt64,
    status_code Int32,
    status_message String,
    attributes Array(Tuple(
        key LowCardinality(String),
        kind Enum8('unset' = 0, 'string' = 1, 'bool' = 2, 'int' = 3, 'double' = 4, 'array' = 5, 'kvlist' = 6, 'bytes' = 7, 'array*' = 8, 'kvlist*' = 9),
        value String
    )) CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 4194304, max_compress_block_size = 16777216),
    dropped_attributes UInt32,
    events Array(Tuple(
        time_ns UInt64,
        name String,
        attributes Array(Tuple(
            key LowCardinality(String),
            kind Enum8('unset' = 0, 'string' = 1, 'bool' = 2, 'int' = 3, 'double' = 4, 'array' = 5, 'kvlist' = 6, 'bytes' = 7, 'array*' = 8, 'kvlist*' = 9),
            value String
        )),
        dropped UInt32
    )) CODEC(ZSTD(3)),
    dropped_events UInt32,
    links Array(Tuple(
        trace_id String,
        span_id String,
        trace_state String,
        flags UInt32,
        attributes Array(Tuple(
            key LowCardinality(String),
            kind Enum8('unset' = 0, 'string' = 1, 'bool' = 2, 'int' = 3, 'double' = 4, 'array' = 5, 'kvlist' = 6, 'bytes' = 7, 'array*' = 8, 'kvlist*' = 9),
            value String
        )),
        dropped UInt32
    )) CODEC(ZSTD(3)),
    dropped_links UInt32,
    resource_attributes Array(Tuple(
        key LowCardinality(String),
        kind Enum8('unset' = 0, 'string' = 1, 'bool' = 2, 'int' = 3, 'double' = 4, 'array' = 5, 'kvlist' = 6, 'bytes' = 7, 'array*' = 8, 'kvlist*' = 9),
        value String
    )) CODEC(ZSTD(3)),
    resource_dropped UInt32,
    resource_schema_url LowCardinality(String),
    scope_name LowCardinality(String),
    scope_version LowCardinality(String),
    scope_attributes Array(Tuple(
        key LowCardinality(String),
        kind Enum8('unset' = 0, 'string' = 1, 'bool' = 2, 'int' = 3, 'double' = 4, 'array' = 5, 'kvlist' = 6, 'bytes' = 7, 'array*' = 8, 'kvlist*' = 9),
        value String
    )) CODEC(ZSTD(3)),
    scope_dropped UInt32,
    scope_schema_url LowCardinality(String)
)
ENGINE = ReplacingMergeTree(sequence)
PARTITION BY toYYYYMMDD(arrived_at)
ORDER BY (tenant, trace_id, span_id, content_hash)
SETTINGS index_granularity = 1024, merge_max_block_size = 1024, vertical_merge_algorithm_min_rows_to_activate = 1, fsync_after_insert = 1, fsync_part_directory = 1, non_replicated_deduplication_window = 10000, enable_block_number_column = 1, enable_block_offset_column = 1
