-- title: How much of the prompts the results of each tool fill, by estimate, over the newest runs
-- params: since DateTime64(9, 'UTC'), agent String ('' = any; the run's), of_runs UInt32 (how many of the newest), most UInt32 (rows)
-- returns: one row per tool and currency: what, tokens and cost (both estimated), currency, runs, prompts
SELECT
    s.tool_name AS what,
    sum(s.tokens_estimated) AS tokens,
    sum(s.cost_estimated) AS cost,
    s.currency AS currency,
    uniqExact(s.run_id) AS runs,
    sum(s.prompts) AS prompts
FROM prompt_shares AS s
WHERE isNotNull(s.tool_name)
    AND s.run_id IN
    (
        SELECT run_id
        FROM runs
        WHERE started_at >= {since:DateTime64(9, 'UTC')}
            AND ({agent:String} = '' OR agent_name = {agent:String})
        ORDER BY started_at DESC, run_id
        LIMIT {of_runs:UInt32}
    )
GROUP BY what, currency
ORDER BY tokens DESC, what
LIMIT {most:UInt32}
