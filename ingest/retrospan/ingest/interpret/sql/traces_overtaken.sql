-- title: traces that were written by a later reading, and others that belong to the runs of some traces
-- params: tenant String, trace_ids Array(String), run_ids Array(String), generation UInt64 (the highest of the reading)
-- returns: trace_id
-- Which others may be meant the indexes say, and only of these the newest row counts: with FINAL alone all would be read.
SELECT trace_id
FROM canon_traces
WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)} AND generation > {generation:UInt64}
LIMIT 1
UNION ALL
SELECT trace_id
FROM canon_traces
FINAL
WHERE tenant = {tenant:String}
    AND (joins IN {trace_ids:Array(String)} OR hasAny(claims, {run_ids:Array(String)}))
    AND trace_id IN
    (
        SELECT trace_id
        FROM canon_traces
        WHERE tenant = {tenant:String}
            AND (joins IN {trace_ids:Array(String)} OR hasAny(claims, {run_ids:Array(String)}))
            AND trace_id NOT IN {trace_ids:Array(String)}
    )
LIMIT 1
