-- title: a page of traces that hold no run
-- params: tenant String, trace_id String (the last of the page before), limit UInt64
-- returns: tenant, trace_id
SELECT tenant, trace_id
FROM canon_traces FINAL
WHERE (tenant > {tenant:String} OR (tenant = {tenant:String} AND trace_id > {trace_id:String})) AND empty(run_ids)
ORDER BY tenant, trace_id
LIMIT {limit:UInt64}
