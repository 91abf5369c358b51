-- title: runs that were looked at
-- params: none
-- returns: nothing
CREATE TABLE seen_runs
(
    tenant String,
    run_id String
)
ENGINE = MergeTree
ORDER BY (tenant, run_id)
