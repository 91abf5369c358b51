-- title: traces that join some traces, or whose spans name some runs
-- params: tenant String, trace_ids Array(String), run_ids Array(String)
-- returns: trace_id, through (the newest sequence of each log)
SELECT
    trace_id,
    argMax(through, generation) AS through
FROM canon_traces
WHERE tenant = {tenant:String}
    AND (joins IN {trace_ids:Array(String)} OR hasAny(claims, {run_ids:Array(String)}))
GROUP BY trace_id
ORDER BY trace_id
