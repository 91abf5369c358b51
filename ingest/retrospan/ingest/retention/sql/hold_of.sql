-- title: the newest word on the hold of a run
-- params: tenant String, run_id String
-- returns: is_set Bool, until Int64 (Unix ns, 0 for ever)
SELECT
    is_set,
    ifNull(toUnixTimestamp64Nano(until), 0) AS until
FROM run_marks
WHERE tenant = {tenant:String} AND run_id = {run_id:String} AND mark = 'hold'
ORDER BY at DESC, sequence DESC
LIMIT 1
