-- title: canonical approvals; one row mirrors retrospan.schemas.stated.ApprovalRow
CREATE TABLE IF NOT EXISTS canon_approvals
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    step Nullable(UInt32),
    trace_id String,
    span_id String,
    decision String,
    approver Nullable(String),
    explanation Nullable(String) CODEC(ZSTD(3)),
    at DateTime64(9, 'UTC')
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, at)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
