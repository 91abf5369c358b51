-- title: canonical steps laid out for questions about one run: granules of 1,024 rows, ids and hashes compressed better
-- Replaced as a whole, with what it holds, where one process owns the warehouse; elsewhere it is made so at once.
CREATE OR REPLACE TABLE canon_steps
(
    tenant LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    generation UInt64,
    step UInt32,
    step_kind LowCardinality(String),
    name String,
    trace_id String CODEC(ZSTD(1)),
    span_id String CODEC(ZSTD(1)),
    model_call UInt32,
    tool_call UInt32,
    node Nullable(String),
    framework_step Nullable(Int64),
    task_step Nullable(Int64),
    task_step_name Nullable(String),
    task_steps_total Nullable(Int64),
    agent_name Nullable(String),
    started_at DateTime64(9, 'UTC'),
    ended_at Nullable(DateTime64(9, 'UTC')),
    duration_ms Nullable(Float64),
    status LowCardinality(String),
    attempt Nullable(UInt32),
    state_source LowCardinality(Nullable(String)),
    before_keys Array(LowCardinality(String)),
    before_values Array(UInt32),
    after_keys Array(LowCardinality(String)),
    after_values Array(UInt32),
    state_before_hash Nullable(String) CODEC(ZSTD(1)),
    state_after_hash Nullable(String) CODEC(ZSTD(1)),
    state_schema Nullable(String),
    query Nullable(String) CODEC(ZSTD(3)),
    data_source Nullable(String)
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, step)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
AS SELECT * FROM canon_steps
