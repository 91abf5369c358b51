-- title: What model calls cost, by agent, version, day, model, run, or the tool in whose call they were made, the dearest first
-- params: since DateTime64(9, 'UTC'), agent String ('' = any), by String (agent, version, day, model, run or tool), most UInt32 (rows)
-- returns: one row per group and currency: what, cost (of what has a price), currency, loops and retries (of that cost), unpriced (model calls without a cost), unknown (why), runs, model_calls, tokens
WITH lines AS
(
    SELECT
        ifNull(
            multiIf(
                {by:String} = 'agent', toString(agent_name),
                {by:String} = 'version', if(
                    isNull(agent_version) AND isNull(agent_name),
                    NULL,
                    concat(ifNull(toString(agent_name), '-'), ' ', ifNull(agent_version, '-'))
                ),
                {by:String} = 'day', toString(toDate(at)),
                {by:String} = 'model', toString(model),
                {by:String} = 'run', run_id,
                toString(tool_name)
            ),
            ''
        ) AS what,
        -- Counted by numbers: texts would take three times as long.
        cityHash64(run_id) AS run,
        cityHash64(run_id, ifNull(model_call, 0)) AS call,
        isNotNull(model_call) AS is_call,
        tokens,
        ifNull(toString(currency), '') AS coin,
        amount,
        toString(unknown) AS reason,
        ifNull(toString(wasted), '') AS lost
    FROM cost
    WHERE at >= {since:DateTime64(9, 'UTC')}
        AND ({agent:String} = '' OR agent_name = {agent:String})
)
SELECT
    nullIf(g.what, '') AS what,
    p.cost AS cost,
    nullIf(p.coin, '') AS currency,
    p.loops AS loops,
    p.retries AS retries,
    g.unpriced AS unpriced,
    g.unknown AS unknown,
    g.runs AS runs,
    g.model_calls AS model_calls,
    g.tokens AS tokens
FROM
(
    SELECT
        what,
        uniqExactIf(call, isNull(amount)) AS unpriced,
        any(reason) AS unknown,
        uniqExact(run) AS runs,
        uniqExactIf(call, is_call) AS model_calls,
        sum(tokens) AS tokens
    FROM lines
    GROUP BY what
) AS g
LEFT JOIN
(
    SELECT
        what,
        coin,
        sum(amount) AS cost,
        sumIf(amount, lost = 'loop') AS loops,
        sumIf(amount, lost = 'retry') AS retries
    FROM lines
    WHERE isNotNull(amount)
    GROUP BY what, coin
) AS p ON p.what = g.what
ORDER BY
    if({by:String} = 'day', g.what, '') DESC,
    cost DESC,
    tokens DESC,
    g.what
LIMIT {most:UInt32}
SETTINGS join_use_nulls = 1
