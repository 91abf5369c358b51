-- title: the runs that some runs descend from, or whose history their prompts go on
-- params: tenant String, run_ids Array(String)
-- returns: run_id
SELECT DISTINCT arrayJoin(arrayFilter(
    r -> r != '',
    [ifNull(parent_run_id, ''), origin_run_id, ifNull(history_run_id, '')]
)) AS leaned_on
FROM canon_runs FINAL
WHERE NOT deleted AND tenant = {tenant:String} AND run_id IN {run_ids:Array(String)}
ORDER BY leaned_on
