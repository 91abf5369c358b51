-- title: How many loops began on each day (UTC), newest first
-- params: since DateTime64(9, 'UTC'), run_id String, agent String ('' = any), least UInt32 (repeats), most UInt32 (rows)
-- returns: one row per day that has loops: loops, runs, calls, longest, longest_tool, examples (three runs at most)
SELECT
    toDate32(started_at) AS day,
    count() AS loops,
    uniqExact(run_id) AS runs,
    sum(repeats) AS calls,
    max(repeats) AS longest,
    argMax(tool_name, (repeats, run_id, first_step)) AS longest_tool,
    arraySlice(arrayDistinct(arraySort(groupArray((-toInt64(repeats), run_id))).2), 1, 3) AS examples
FROM loops
WHERE started_at >= {since:DateTime64(9, 'UTC')}
    AND ({run_id:String} = '' OR run_id = {run_id:String})
    AND ({agent:String} = '' OR agent_name = {agent:String})
    AND repeats >= {least:UInt32}
GROUP BY day
ORDER BY day DESC
LIMIT {most:UInt32}
