-- title: Findings: what rules found wrong with runs, newest first
-- params: since DateTime64(9, 'UTC'), run_id String, agent String, rule String, tool String ('' = any), severities Array(String), most UInt32 (rows)
-- returns: one row per finding, the columns of the view findings
SELECT
    run_id,
    rule,
    severity,
    step,
    agent_name,
    tool_name,
    evidence,
    explanation,
    at
FROM findings
WHERE at >= {since:DateTime64(9, 'UTC')}
    AND ({run_id:String} = '' OR run_id = {run_id:String})
    AND ({agent:String} = '' OR agent_name = {agent:String})
    AND ({rule:String} = '' OR rule = {rule:String})
    AND ({tool:String} = '' OR tool_name = {tool:String})
    AND has({severities:Array(String)}, severity)
ORDER BY
    at DESC,
    run_id,
    rule,
    step,
    explanation
LIMIT {most:UInt32}
