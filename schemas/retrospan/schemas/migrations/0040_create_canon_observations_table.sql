-- title: canonical observations; one row mirrors retrospan.schemas.stated.ObservationRow
-- By entity, so that its history is one range of the key whatever else is stored; a run finds its own by the index.
CREATE TABLE IF NOT EXISTS canon_observations
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    entity_type LowCardinality(String),
    entity_id String,
    field String,
    observation_id String,
    op LowCardinality(String),
    value Nullable(String) CODEC(ZSTD(3)),
    value_hash String,
    valid_from DateTime64(9, 'UTC'),
    known_from DateTime64(9, 'UTC'),
    said_at DateTime64(9, 'UTC'),
    step Nullable(UInt32),
    trace_id String,
    span_id String,
    agent_name Nullable(String),
    source LowCardinality(Nullable(String)),
    confidence Nullable(Float64),
    priority Int32,
    correction Bool,
    reason Nullable(String),
    INDEX by_run run_id TYPE bloom_filter GRANULARITY 1,
    INDEX by_observation observation_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = MergeTree
ORDER BY (tenant, entity_type, entity_id, field, run_id, generation)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
