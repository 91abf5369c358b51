-- title: canonical tool calls; one row mirrors retrospan.schemas.canonical.ToolCallRow
CREATE TABLE IF NOT EXISTS canon_tool_calls
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    ordinal UInt32,
    step Nullable(UInt32),
    trace_id Nullable(String),
    span_id Nullable(String),
    asked_by Nullable(UInt32),
    agent_name Nullable(String),
    tool_name String,
    tool_call_id Nullable(String),
    arguments Nullable(String) CODEC(ZSTD(3)),
    result Nullable(String) CODEC(ZSTD(3)),
    result_source Nullable(String),
    arguments_hash Nullable(String),
    result_hash Nullable(String),
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
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
