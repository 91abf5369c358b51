-- title: runs of which only the row is left that hides them, made before a generation
-- params: before UInt64 (a generation), limit UInt64
-- returns: tenant, run_id
SELECT tenant, run_id
FROM canon_runs FINAL
WHERE deleted AND generation < {before:UInt64}
ORDER BY tenant, run_id
LIMIT {limit:UInt64}
