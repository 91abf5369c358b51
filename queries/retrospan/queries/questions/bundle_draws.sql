-- title: What blocks of a run, and those around it, drew from outside, where that was recorded
-- params: run_id String, trace_ids Array(String) (its traces: spans are kept by these)
-- returns: one row per block: draws is JSON
-- note: the span of a block around a run that has an id of its own is of no run
SELECT attributes['retrospan.draws'] AS draws
FROM spans
WHERE trace_id IN {trace_ids:Array(String)}
    AND attributes['retrospan.draws'] != ''
    AND
    (
        run_id = {run_id:String}
        OR
        (
            run_id = ''
            AND started_at <= (SELECT min(started_at) FROM runs WHERE run_id = {run_id:String})
            AND ended_at >= (SELECT max(ended_at) FROM runs WHERE run_id = {run_id:String})
        )
    )
ORDER BY started_at, span_id
