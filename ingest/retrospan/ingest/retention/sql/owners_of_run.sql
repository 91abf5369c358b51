-- title: the tenants that have a run of this id
-- params: run_id String
-- returns: tenant
SELECT DISTINCT tenant
FROM canon_runs FINAL
WHERE NOT deleted AND run_id = {run_id:String}
ORDER BY tenant
