-- title: the newest generation of some runs and traces
-- params: tenant String, run_ids Array(String), trace_ids Array(String)
-- returns: generation UInt64
SELECT greatest(
    (SELECT max(generation) FROM canon_runs WHERE tenant = {tenant:String} AND run_id IN {run_ids:Array(String)}),
    (SELECT max(generation) FROM canon_traces WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)})
) AS generation
