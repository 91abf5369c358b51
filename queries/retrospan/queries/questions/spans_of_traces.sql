-- title: The spans of some traces, and the run of each
-- params: trace_ids Array(String)
-- returns: tenant, trace_id, span_id, run_id
SELECT tenant, trace_id, span_id, run_id
FROM spans
WHERE trace_id IN {trace_ids:Array(String)}
ORDER BY trace_id, span_id
