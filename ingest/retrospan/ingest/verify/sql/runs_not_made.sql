-- title: runs that readers see and that no stored span makes
-- params: database Identifier (the warehouse's)
-- returns: tenant, run_id
SELECT
    tenant,
    run_id
FROM {database:Identifier}.canon_runs FINAL
WHERE NOT deleted AND (tenant, run_id) NOT IN (SELECT tenant, run_id FROM seen_runs)
ORDER BY tenant, run_id
LIMIT 100
