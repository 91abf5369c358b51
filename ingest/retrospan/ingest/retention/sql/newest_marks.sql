-- title: the newest word on the flag or the hold of a run, for each id that it has
-- params: tenant String, run_ids Array(String), mark String
-- returns: run_id String, is_set Bool, until Int64 (Unix ns, 0 for ever), said_ns Int64 (Unix ns, by the clock of its collector)
SELECT
    run_id,
    argMax(m.is_set, (at, sequence)) AS is_set,
    argMax(ifNull(toUnixTimestamp64Nano(m.until), 0), (at, sequence)) AS until,
    toUnixTimestamp64Nano(max(at)) AS said_ns
FROM run_marks AS m
WHERE tenant = {tenant:String} AND run_id IN {run_ids:Array(String)} AND mark = {mark:String}
GROUP BY run_id
ORDER BY run_id
