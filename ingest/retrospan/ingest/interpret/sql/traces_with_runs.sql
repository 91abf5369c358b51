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
        OR trace_id IN (
            SELECT arrayJoin(argMax(trace_ids, generation))
            FROM canon_runs
            WHERE tenant = {tenant:String} AND run_id IN {run_ids:Array(String)}
            GROUP BY run_id
        )
    )
GROUP BY trace_id
ORDER BY trace_id
