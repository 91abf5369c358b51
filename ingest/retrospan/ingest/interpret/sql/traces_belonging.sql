-- title: traces apart from some that join these, name runs as these do, or are named by these
-- params: tenant String, trace_ids Array(String), claims Array(String) (the runs that these name)
-- returns: trace_id, joins, claims
-- Of a trace that was read more than once every row counts: what belongs together once is looked at once more.
SELECT
    trace_id,
    joins,
    claims
FROM canon_traces
WHERE tenant = {tenant:String}
    AND (
        joins IN {trace_ids:Array(String)}
        OR hasAny(claims, arrayConcat({trace_ids:Array(String)}, {claims:Array(String)}))
    )
    AND trace_id NOT IN {trace_ids:Array(String)}
UNION DISTINCT
SELECT
    trace_id,
    joins,
    claims
FROM canon_traces
WHERE tenant = {tenant:String}
    AND trace_id IN {claims:Array(String)}
    AND trace_id NOT IN {trace_ids:Array(String)}
