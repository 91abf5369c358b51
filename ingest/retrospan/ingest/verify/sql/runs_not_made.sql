-- title: runs that readers see and that no trace that was compared makes
-- params: database Identifier (the warehouse's)
-- returns: tenant, run_id, trace_ids (those that were joined to it as well)
SELECT
    tenant,
    run_id,
    arrayConcat(trace_ids, aliases) AS every_trace
FROM {database:Identifier}.canon_runs FINAL
WHERE NOT deleted AND (tenant, run_id) NOT IN (SELECT tenant, run_id FROM seen_runs)
ORDER BY tenant, run_id
