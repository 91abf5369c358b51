-- title: Tool calls that succeeded, for mutation rules to be tried on, newest run first
-- params: since DateTime64(9, 'UTC'), run_id String ('' = any), tools Array(String) ([] = any), most UInt32 (rows)
-- returns: one row per tool call: columns of the view tool_calls, and the service of its run
SELECT
    t.run_id AS run_id,
    t.step AS step,
    t.ordinal AS ordinal,
    t.span_id AS span_id,
    t.agent_name AS agent_name,
    r.service_name AS service_name,
    t.tool_name AS tool_name,
    t.arguments AS arguments,
    t.result AS result,
    t.status AS status
FROM tool_calls AS t
INNER JOIN runs AS r ON r.tenant = t.tenant AND r.run_id = t.run_id
WHERE t.status = 'ok'
    AND r.started_at >= {since:DateTime64(9, 'UTC')}
    AND ({run_id:String} = '' OR t.run_id = {run_id:String})
    AND (empty({tools:Array(String)}) OR has({tools:Array(String)}, t.tool_name))
ORDER BY
    r.started_at DESC,
    run_id,
    ordinal
LIMIT {most:UInt32}
