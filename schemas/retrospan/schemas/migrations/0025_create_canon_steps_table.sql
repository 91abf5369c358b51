-- title: canonical steps; one row mirrors retrospan.schemas.canonical.StepRow
CREATE TABLE IF NOT EXISTS canon_steps
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    step UInt32,
    step_kind LowCardinality(String),
    name String,
    trace_id String,
    span_id String,
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
    state_before_hash Nullable(String),
    state_after_hash Nullable(String)
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, step)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
