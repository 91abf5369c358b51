-- title: what is known of some traces
-- params: tenant String, trace_ids Array(String)
-- returns: trace_id, run_ids, joins, claims
-- By hand what FINAL does: it would read ten times as much.
SELECT
    trace_id,
    newest.1 AS run_ids,
    newest.2 AS joins,
    newest.3 AS claims
FROM
(
    SELECT
        trace_id,
        argMax((canon_traces.run_ids, canon_traces.joins, canon_traces.claims), generation) AS newest
    FROM canon_traces
    WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
    GROUP BY trace_id
)
ORDER BY trace_id
