-- title: the newest word on the hold of a run, for each id that it has
-- params: tenant String, run_ids Array(String)
-- returns: run_id String, is_set Bool, until Int64 (Unix ns, 0 for ever)
SELECT
    run_id,
    argMax(m.is_set, (at, sequence)) AS is_set,
    argMax(ifNull(toUnixTimestamp64Nano(m.until), 0), (at, sequence)) AS until
FROM run_marks AS m
WHERE tenant = {tenant:String} AND run_id IN {run_ids:Array(String)} AND mark = 'hold'
GROUP BY run_id
ORDER BY run_id
