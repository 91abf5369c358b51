-- title: canonical model calls; one row mirrors retrospan.schemas.canonical.ModelCallRow
CREATE TABLE IF NOT EXISTS canon_model_calls
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    ordinal UInt32,
    step UInt32,
    trace_id String,
    span_id String,
    agent_name Nullable(String),
    provider Nullable(String),
    request_model Nullable(String),
    response_model Nullable(String),
    parameters String,
    system_value UInt32,
    tools_value UInt32,
    input_values Array(UInt32) CODEC(ZSTD(1)),
    output_values Array(UInt32) CODEC(ZSTD(1)),
    history LowCardinality(String),
    finish_reasons Array(LowCardinality(String)),
    input_tokens Nullable(UInt64),
    output_tokens Nullable(UInt64),
    cached_tokens Nullable(UInt64),
    reasoning_tokens Nullable(UInt64),
    started_at DateTime64(9, 'UTC'),
    duration_ms Nullable(Float64),
    status LowCardinality(String),
    error_type Nullable(String),
    error_message Nullable(String),
    call_hash String,
    input_hash String,
    output_hash String,
    system_hash String,
    tools_hash String,
    parameters_hash String
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, ordinal)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
