-- title: which interpreter has which part of the runs; read with FINAL, and only what is fresh counts
CREATE TABLE IF NOT EXISTS leases
(
    part UInt16,
    holder String,
    state LowCardinality(String),
    written_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(written_at)
ORDER BY (part, holder)
SETTINGS enable_block_number_column = 1, enable_block_offset_column = 1
