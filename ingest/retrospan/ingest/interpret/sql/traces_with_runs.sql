-- title: some traces, and those of some runs
-- params: tenant String, trace_ids Array(String), run_ids Array(String)
-- returns: trace_id, through (the newest sequence of each log)
SELECT
    trace_id,
    argMax(through, generation) AS through
FROM canon_traces
WHERE tenant = {tenant:String}
    AND (
        trace_id IN {trace_ids:Array(String)}
        OR trace_id IN (SELECT arrayJoin(trace_ids) FROM canon_runs FINAL
            WHERE tenant = {tenant:String} AND run_id IN {run_ids:Array(String)})
    )
GROUP BY trace_id
ORDER BY trace_id
