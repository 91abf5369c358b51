-- title: canonical model calls laid out for questions about one run: granules of 1,024 rows, ids and hashes compressed better
-- Replaced as a whole, with what it holds, where one process owns the warehouse; elsewhere it is made so at once.
CREATE OR REPLACE TABLE canon_model_calls
(
    tenant LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    generation UInt64,
    ordinal UInt32,
    step UInt32,
    trace_id String CODEC(ZSTD(1)),
    span_id String CODEC(ZSTD(1)),
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
    call_hash String CODEC(ZSTD(1)),
    input_hash String CODEC(ZSTD(1)),
    output_hash String CODEC(ZSTD(1)),
    system_hash String CODEC(ZSTD(1)),
    tools_hash String CODEC(ZSTD(1)),
    parameters_hash String CODEC(ZSTD(1)),
    context_limit Nullable(UInt64),
    goes_on UInt32,
    messages_new Nullable(UInt64),
    messages_lost Nullable(UInt64),
    lost_hashes Array(String),
    lost_how LowCardinality(Nullable(String)),
    context_tokens Nullable(UInt64),
    cache_write_tokens Nullable(UInt64),
    token_buckets Nullable(String),
    time_to_first_chunk_ms Nullable(Float64),
    prompt_name Nullable(String),
    prompt_version Nullable(String)
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, ordinal)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
AS SELECT * FROM canon_model_calls
