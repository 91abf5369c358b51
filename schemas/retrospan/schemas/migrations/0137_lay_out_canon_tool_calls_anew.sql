-- title: canonical tool calls laid out for questions about one run: granules of 1,024 rows, ids and hashes compressed better
-- Replaced as a whole, with what it holds, where one process owns the warehouse; elsewhere it is made so at once.
CREATE OR REPLACE TABLE canon_tool_calls
(
    tenant LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    generation UInt64,
    ordinal UInt32,
    step Nullable(UInt32),
    trace_id Nullable(String) CODEC(ZSTD(1)),
    span_id Nullable(String) CODEC(ZSTD(1)),
    asked_by Nullable(UInt32),
    agent_name Nullable(String),
    tool_name String,
    tool_call_id Nullable(String) CODEC(ZSTD(1)),
    arguments Nullable(String) CODEC(ZSTD(3)),
    result Nullable(String) CODEC(ZSTD(3)),
    result_source Nullable(String),
    arguments_hash Nullable(String) CODEC(ZSTD(1)),
    result_hash Nullable(String) CODEC(ZSTD(1)),
    effect Nullable(String),
    idempotency_key Nullable(String),
    attempt Nullable(UInt32),
    started_at Nullable(DateTime64(9, 'UTC')),
    duration_ms Nullable(Float64),
    status LowCardinality(String),
    error_type Nullable(String),
    error_message Nullable(String)
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, ordinal)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
AS SELECT * FROM canon_tool_calls
