-- title: The points that a run can be resumed from
-- params: run_id String
-- returns: one row per checkpoint; at_ns in Unix nanoseconds
SELECT
    checkpoint_id,
    parent_id,
    step,
    trigger,
    toUnixTimestamp64Nano(c.at) AS at_ns
FROM checkpoints AS c
WHERE run_id = {run_id:String}
ORDER BY at, span_id
