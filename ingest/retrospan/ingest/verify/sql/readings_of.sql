-- title: how some traces were read last, and the newest record of each log that is known to hold some of them
-- params: tenant String, trace_ids Array(String)
-- returns: trace_id, generation, interpreted_by, run_ids, through Array(UInt64), arrived Array(UInt64)
SELECT
    t.trace_id,
    t.newest,
    t.interpreted_by,
    t.run_ids,
    t.through,
    a.arrived
FROM
(
    SELECT
        trace_id,
        max(generation) AS newest,
        argMax(interpreted_by, generation) AS interpreted_by,
        argMax(run_ids, generation) AS run_ids,
        argMax(if(empty(through), [through_sequence], through), generation) AS through
    FROM canon_traces
    WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
    GROUP BY trace_id
) AS t
LEFT JOIN
(
    SELECT
        trace_id,
        groupArray(last) AS arrived
    FROM
    (
        SELECT
            trace_id,
            max(sequence) AS last
        FROM arrivals
        WHERE tenant = {tenant:String} AND trace_id IN {trace_ids:Array(String)}
        GROUP BY trace_id, bitShiftRight(sequence, 40)
    )
    GROUP BY trace_id
) AS a ON a.trace_id = t.trace_id
