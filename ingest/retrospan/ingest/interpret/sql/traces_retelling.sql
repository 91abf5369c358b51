-- title: traces that retell some answers, and those that gave others, the newest of each
-- params: tenant String, answers Array(String), retold Array(String), most UInt32 (traces of one answer)
-- returns: trace_id, run_ids, told (which of the answers)
-- Which traces may be meant the indexes say, and only of these the newest row counts: with FINAL alone all would be read.
SELECT
    trace_id,
    any(runs) AS run_ids,
    arraySort(groupUniqArray(answer)) AS told
FROM
(
    SELECT
        trace_id,
        run_ids AS runs,
        arrayJoin(arrayIntersect(retold, {answers:Array(String)})) AS answer
    FROM canon_traces
    FINAL
    WHERE tenant = {tenant:String}
        AND hasAny(retold, {answers:Array(String)})
        AND trace_id IN
        (
            SELECT trace_id
            FROM canon_traces
            WHERE tenant = {tenant:String} AND hasAny(retold, {answers:Array(String)})
        )
    ORDER BY through_sequence DESC
    LIMIT {most:UInt32} BY answer
    UNION ALL
    SELECT
        trace_id,
        run_ids AS runs,
        arrayJoin(arrayIntersect(answers, {retold:Array(String)})) AS answer
    FROM canon_traces
    FINAL
    WHERE tenant = {tenant:String}
        AND hasAny(answers, {retold:Array(String)})
        AND trace_id IN
        (
            SELECT trace_id
            FROM canon_traces
            WHERE tenant = {tenant:String} AND hasAny(answers, {retold:Array(String)})
        )
    ORDER BY through_sequence DESC
    LIMIT {most:UInt32} BY answer
)
GROUP BY trace_id
