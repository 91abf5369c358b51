-- title: the runs that lie in some traces
-- params: tenant String, trace_ids Array(String)
-- returns: trace_id, run_ids
SELECT trace_id, run_ids
FROM canon_traces FINAL
WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
ORDER BY trace_id
