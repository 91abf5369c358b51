-- title: Whether there is a run of exactly this id, by the key of the table behind the view
-- params: run_id String
-- returns: run_id
SELECT run_id
FROM canon_runs FINAL
WHERE run_id = {run_id:String} AND NOT deleted
LIMIT 1
