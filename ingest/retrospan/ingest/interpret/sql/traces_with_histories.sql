-- title: traces that go on from some histories or end with others, the newest of each
-- params: tenant String, begun Array(String), ended Array(String), most UInt32 (traces of one history)
-- returns: trace_id, run_ids, goes_on_from, ends_with
-- Which traces may be meant the indexes say, and only of these the newest row counts: with FINAL alone all would be read.
SELECT
    trace_id,
    run_ids,
    goes_on_from,
    ends_with
FROM canon_traces
FINAL
WHERE tenant = {tenant:String}
    AND goes_on_from IN {begun:Array(String)}
    AND trace_id IN
    (
        SELECT trace_id
        FROM canon_traces
        WHERE tenant = {tenant:String} AND goes_on_from IN {begun:Array(String)}
    )
ORDER BY through_sequence DESC
LIMIT {most:UInt32} BY goes_on_from
UNION ALL
SELECT
    trace_id,
    run_ids,
    goes_on_from,
    ends_with
FROM canon_traces
FINAL
WHERE tenant = {tenant:String}
    AND ends_with IN {ended:Array(String)}
    AND trace_id IN
    (
        SELECT trace_id
        FROM canon_traces
        WHERE tenant = {tenant:String} AND ends_with IN {ended:Array(String)}
    )
ORDER BY through_sequence DESC
LIMIT {most:UInt32} BY ends_with
