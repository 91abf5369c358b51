-- title: traces that go on from some histories or end with them, the newest of each, and those of the same runs
-- params: tenant String, histories Array(String), most UInt32 (traces of one history)
-- returns: trace_id, through (the newest sequence of each log)
WITH
    going_on AS
    (
        SELECT
            trace_id,
            run_ids
        FROM canon_traces
        FINAL
        WHERE tenant = {tenant:String} AND goes_on_from IN {histories:Array(String)}
        ORDER BY through_sequence DESC
        LIMIT {most:UInt32} BY goes_on_from
    ),
    ending AS
    (
        SELECT
            trace_id,
            run_ids
        FROM canon_traces
        FINAL
        WHERE tenant = {tenant:String} AND ends_with IN {histories:Array(String)}
        ORDER BY through_sequence DESC
        LIMIT {most:UInt32} BY ends_with
    ),
    found AS
    (
        SELECT
            trace_id,
            run_ids
        FROM going_on
        UNION ALL
        SELECT
            trace_id,
            run_ids
        FROM ending
    )
SELECT
    trace_id,
    argMax(through, generation) AS through
FROM canon_traces
WHERE tenant = {tenant:String}
    AND (
        trace_id IN (SELECT trace_id FROM found)
        OR trace_id IN (SELECT arrayJoin(trace_ids) FROM canon_runs FINAL
            WHERE tenant = {tenant:String} AND run_id IN (SELECT arrayJoin(run_ids) FROM found))
    )
GROUP BY trace_id
ORDER BY trace_id
