-- title: canonical crossings, where provenance leaves a run; one row mirrors retrospan.schemas.canonical.CrossingRow
-- By reference, so that a walk finds the other runs that name a thing without reading any other run.
CREATE TABLE IF NOT EXISTS canon_crossings
(
    tenant LowCardinality(String),
    run_id String,
    generation UInt64,
    reference String,
    side LowCardinality(String)
)
ENGINE = MergeTree
ORDER BY (tenant, reference, run_id, generation)
SETTINGS index_granularity = 1024, enable_block_number_column = 1, enable_block_offset_column = 1
