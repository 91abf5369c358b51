-- title: the tenants that have a run of this id, and the other traces that were joined to it
-- params: run_id String
-- returns: tenant, aliases Array(String)
SELECT
    tenant,
    aliases
FROM canon_runs FINAL
WHERE NOT deleted AND run_id = {run_id:String}
ORDER BY tenant
