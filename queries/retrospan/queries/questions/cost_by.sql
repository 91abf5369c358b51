-- title: What model calls cost, by agent, version, day, model, run, or the tool in whose call they were made
-- params: since DateTime64(9, 'UTC'), agent String ('' = any), by String (agent, version, day, model, run or tool), most UInt32 (rows)
-- returns: one row per group and currency, the dearest first, days newest first; `cost` is of what has a price, `unknown`
-- is why some call of the group has none, one of `reasons` (20 and more are counted as 20)
SELECT
    nullIf(w.what, '') AS what,
    if(w.coin = '', NULL, w.cost) AS cost,
    nullIf(w.coin, '') AS currency,
    if(w.coin = '', NULL, w.loops) AS loops,
    if(w.coin = '', NULL, w.retries) AS retries,
    w.unpriced AS unpriced,
    w.unknown AS unknown,
    w.reasons AS reasons,
    w.runs AS runs,
    w.model_calls AS model_calls,
    w.tokens AS tokens
FROM
(
    SELECT
        g.what AS what,
        g.coin AS coin,
        g.cost AS cost,
        g.loops AS loops,
        g.retries AS retries,
        countIf(g.coin != '') OVER one AS currencies,
        sum(g.unpriced) OVER one AS unpriced,
        max(g.unknown) OVER one AS unknown,
        length(arrayDistinct(arrayFlatten(groupArray(g.reasons) OVER one))) AS reasons,
        uniqExactMerge(g.runs) OVER one AS runs,
        uniqExactMerge(g.model_calls) OVER one AS model_calls,
        sum(g.tokens) OVER one AS tokens
    FROM
    (
        SELECT
            l.what AS what,
            l.coin AS coin,
            sum(l.amount) AS cost,
            sumIf(l.amount, l.lost = 'loop') AS loops,
            sumIf(l.amount, l.lost = 'retry') AS retries,
            uniqExactIf(l.call, isNull(l.amount)) AS unpriced,
            any(l.reason) AS unknown,
            groupUniqArray(20)(l.reason) AS reasons,
            uniqExactState(l.run) AS runs,
            uniqExactStateIf(l.call, l.is_call) AS model_calls,
            sum(ifNull(l.tokens, 0)) AS tokens
        FROM
        (
            SELECT
                ifNull(
                    multiIf(
                        {by:String} = 'agent', toString(c.agent_name),
                        {by:String} = 'version', if(
                            isNull(c.agent_version) AND isNull(c.agent_name),
                            NULL,
                            concat(ifNull(toString(c.agent_name), '-'), ' ', ifNull(c.agent_version, '-'))
                        ),
                        {by:String} = 'day', toString(toDate32(c.at)),
                        {by:String} = 'model', toString(c.model),
                        {by:String} = 'run', c.run_id,
                        toString(c.tool_name)
                    ),
                    ''
                ) AS what,
                -- Counted by numbers: texts would take three times as long.
                cityHash64(c.run_id) AS run,
                cityHash64(c.run_id, ifNull(c.model_call, 0)) AS call,
                isNotNull(c.model_call) AS is_call,
                c.tokens AS tokens,
                if(isNull(c.amount), '', ifNull(toString(c.currency), '')) AS coin,
                c.amount AS amount,
                toString(c.unknown) AS reason,
                ifNull(toString(c.wasted), '') AS lost
            FROM cost AS c
            WHERE c.at >= {since:DateTime64(9, 'UTC')}
                AND ({agent:String} = '' OR c.agent_name = {agent:String})
        ) AS l
        GROUP BY what, coin
    ) AS g
    WINDOW one AS (PARTITION BY g.what)
) AS w
WHERE w.coin != '' OR w.currencies = 0
ORDER BY
    if({by:String} = 'day', w.what, '') DESC,
    cost DESC,
    tokens DESC,
    w.what
LIMIT {most:UInt32}
