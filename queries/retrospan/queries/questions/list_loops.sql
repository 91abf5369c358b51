-- title: Loops: the same tool called again and again with equal arguments, newest first
-- params: since DateTime64(9, 'UTC'), run_id String, agent String ('' = any), least UInt32 (repeats), most UInt32 (rows)
-- returns: one row per loop, the columns of the view loops
SELECT
    run_id,
    agent_name,
    tool_name,
    arguments_hash,
    arguments,
    repeats,
    first_step,
    last_step,
    same_result,
    started_at
FROM loops
WHERE started_at >= {since:DateTime64(9, 'UTC')}
    AND ({run_id:String} = '' OR run_id = {run_id:String})
    AND ({agent:String} = '' OR agent_name = {agent:String})
    AND repeats >= {least:UInt32}
ORDER BY
    started_at DESC,
    run_id,
    first_step
LIMIT {most:UInt32}
