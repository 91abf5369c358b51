-- title: What blocks of a run drew from outside, where that was recorded
-- params: run_id String, trace_ids Array(String) (its traces: spans are kept by these)
-- returns: one row per block: draws is JSON
SELECT attributes['retrospan.draws'] AS draws
FROM spans
WHERE trace_id IN {trace_ids:Array(String)}
    AND run_id = {run_id:String}
    AND attributes['retrospan.draws'] != ''
ORDER BY started_at, span_id
