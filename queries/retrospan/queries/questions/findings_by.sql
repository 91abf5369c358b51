-- title: How many findings there are, by rule, agent, tool or day, with runs that show them
-- params: since DateTime64(9, 'UTC'), run_id String, agent String, rule String, tool String ('' = any), severities Array(String), by String (rule, agent, tool, day), most UInt32 (rows)
-- returns: one row per name (NULL if not known): findings, runs, gravest, newest_at, examples (three runs), newest_evidence
SELECT
    multiIf(
        {by:String} = 'rule', CAST(rule, 'Nullable(String)'),
        {by:String} = 'agent', CAST(agent_name, 'Nullable(String)'),
        {by:String} = 'tool', CAST(tool_name, 'Nullable(String)'),
        CAST(toString(toDate32(at)), 'Nullable(String)')
    ) AS name,
    count() AS findings,
    uniqExact(run_id) AS runs,
    argMax(severity, indexOf(['info', 'warning', 'error'], severity)) AS gravest,
    max(at) AS newest_at,
    arraySlice(arrayDistinct(arrayReverse(arraySort(groupArray((at, run_id)))).2), 1, 3) AS examples,
    argMax(evidence, (at, run_id, explanation)) AS newest_evidence
FROM findings
WHERE at >= {since:DateTime64(9, 'UTC')}
    AND ({run_id:String} = '' OR run_id = {run_id:String})
    AND ({agent:String} = '' OR agent_name = {agent:String})
    AND ({rule:String} = '' OR rule = {rule:String})
    AND ({tool:String} = '' OR tool_name = {tool:String})
    AND has({severities:Array(String)}, severity)
GROUP BY name
ORDER BY
    if({by:String} = 'day', name, '') DESC,
    runs DESC,
    name
LIMIT {most:UInt32}
