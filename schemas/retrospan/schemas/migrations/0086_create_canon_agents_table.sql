-- title: canonical agents; one row mirrors retrospan.schemas.canonical.AgentRow
CREATE TABLE IF NOT EXISTS canon_agents
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    agent_name String,
    parent_agent_name Nullable(String),
    asked_by Nullable(UInt32),
    first_step Nullable(UInt32),
    last_step Nullable(UInt32),
    model_calls UInt64,
    tool_calls UInt64,
    failures UInt64,
    input_tokens Nullable(UInt64),
    output_tokens Nullable(UInt64)
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
