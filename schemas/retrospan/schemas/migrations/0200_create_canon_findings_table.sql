-- title: canonical findings, what rules found wrong with runs; one row mirrors retrospan.schemas.findings.FindingRow
CREATE TABLE IF NOT EXISTS canon_findings
(
    tenant LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    generation UInt64,
    rule LowCardinality(String),
    severity LowCardinality(String),
    step Nullable(UInt32),
    agent_name LowCardinality(Nullable(String)),
    tool_name LowCardinality(Nullable(String)),
    evidence Array(String) CODEC(ZSTD(1)),
    explanation String CODEC(ZSTD(3)),
    at DateTime64(9, 'UTC'),
    idempotency_key Nullable(String)
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
