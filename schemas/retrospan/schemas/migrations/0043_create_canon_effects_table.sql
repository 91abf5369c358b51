-- title: canonical effects on the world; one row mirrors retrospan.schemas.stated.EffectRow
CREATE TABLE IF NOT EXISTS canon_effects
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    step Nullable(UInt32),
    tool_call Nullable(UInt32),
    tool_name String,
    trace_id String,
    span_id String,
    effect LowCardinality(Nullable(String)),
    effect_status LowCardinality(String),
    idempotency_key Nullable(String),
    compensates Nullable(String),
    attempt Nullable(UInt32),
    at DateTime64(9, 'UTC'),
    INDEX by_key idempotency_key TYPE bloom_filter GRANULARITY 1,
    INDEX by_compensates compensates TYPE bloom_filter GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, at)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
