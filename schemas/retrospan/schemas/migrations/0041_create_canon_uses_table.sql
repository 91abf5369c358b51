-- title: canonical uses of entities; one row mirrors retrospan.schemas.stated.UseRow
CREATE TABLE IF NOT EXISTS canon_uses
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    entity_type LowCardinality(String),
    entity_id String,
    field Nullable(String),
    observation_id Nullable(String),
    step Nullable(UInt32),
    trace_id String,
    span_id String,
    agent_name Nullable(String),
    at DateTime64(9, 'UTC'),
    INDEX by_run run_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (tenant, entity_type, entity_id, run_id, generation)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
