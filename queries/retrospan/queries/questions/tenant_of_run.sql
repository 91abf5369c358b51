-- title: Whose run it is
-- params: run_id String
-- returns: tenant
SELECT tenant
FROM runs
WHERE run_id = {run_id:String}
LIMIT 1
