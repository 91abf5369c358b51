-- title: canonical costs; one row mirrors retrospan.schemas.costs.CostRow
CREATE TABLE IF NOT EXISTS canon_costs
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    model_call UInt32,
    step Nullable(UInt32),
    agent_name LowCardinality(Nullable(String)),
    provider LowCardinality(Nullable(String)),
    model LowCardinality(Nullable(String)),
    tool_name LowCardinality(Nullable(String)),
    bucket LowCardinality(Nullable(String)),
    tokens Nullable(UInt64),
    price Nullable(Decimal(38, 6)),
    amount Nullable(Decimal(38, 12)),
    currency LowCardinality(Nullable(String)),
    price_list LowCardinality(Nullable(String)),
    unknown LowCardinality(Nullable(String)),
    wasted LowCardinality(Nullable(String)),
    at DateTime64(9, 'UTC')
)
ENGINE = MergeTree
ORDER BY (tenant, run_id, generation, model_call)
SETTINGS index_granularity = 8192, enable_block_number_column = 1, enable_block_offset_column = 1
