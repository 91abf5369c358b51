-- title: The newest runs that meet conditions beyond time, outcome and agent
-- params: since DateTime64(9, 'UTC'), outcome String, agent String, user String, conversation String, version String (of the agent or the service), tool String (that it called), cost_is String ('', unknown, or one of > >= < <= =), cost String (a decimal), pattern String (what ILIKE finds in one of its texts, and more), said String (what is there), score String (name of an evaluation), score_is String ('' or a comparison), score_value String (a number, or after = a label; '' = any), chosen UInt8 (1: only those of run_ids), run_ids Array(String), most UInt32 (rows)
-- returns: one row per run: run_id, matching (how many there are)
SELECT
    r.run_id AS run_id,
    count() OVER () AS matching
FROM runs AS r
WHERE r.started_at >= {since:DateTime64(9, 'UTC')}
    AND ({outcome:String} = '' OR r.outcome = {outcome:String})
    AND ({agent:String} = '' OR r.agent_name = {agent:String})
    AND ({user:String} = '' OR r.user_id = {user:String})
    AND ({conversation:String} = '' OR r.conversation_id = {conversation:String})
    AND ({version:String} = '' OR r.agent_version = {version:String} OR r.service_version = {version:String})
    AND multiIf(
        {cost_is:String} = '', true,
        {cost_is:String} = 'unknown', isNull(r.cost),
        isNull(r.cost), false,
        {cost_is:String} = '>', r.cost > toDecimal128({cost:String}, 12),
        {cost_is:String} = '>=', r.cost >= toDecimal128({cost:String}, 12),
        {cost_is:String} = '<', r.cost < toDecimal128({cost:String}, 12),
        {cost_is:String} = '<=', r.cost <= toDecimal128({cost:String}, 12),
        r.cost = toDecimal128({cost:String}, 12)
    )
    AND (
        {tool:String} = ''
        OR r.run_id IN (SELECT t.run_id FROM tool_calls AS t WHERE {tool:String} != '' AND t.tool_name = {tool:String})
    )
    AND (
        {pattern:String} = ''
        OR r.run_id IN
        (
            SELECT x.run_id
            FROM texts AS x
            WHERE {pattern:String} != '' AND x.text ILIKE {pattern:String}
                AND positionCaseInsensitiveUTF8(retrospan_said(x.kind, x.text, {said:String}), {said:String}) > 0
        )
    )
    AND (
        {score:String} = ''
        OR r.run_id IN
        (
            SELECT e.run_id
            FROM evaluations AS e
            WHERE {score:String} != ''
                AND e.name = {score:String}
                AND multiIf(
                    {score_is:String} = '', true,
                    {score_is:String} = '>', e.score > toFloat64OrNull({score_value:String}),
                    {score_is:String} = '>=', e.score >= toFloat64OrNull({score_value:String}),
                    {score_is:String} = '<', e.score < toFloat64OrNull({score_value:String}),
                    {score_is:String} = '<=', e.score <= toFloat64OrNull({score_value:String}),
                    ifNull(e.label = {score_value:String}, false)
                        OR ifNull(e.score = toFloat64OrNull({score_value:String}), false)
                )
        )
    )
    AND ({chosen:UInt8} = 0 OR has({run_ids:Array(String)}, r.run_id))
ORDER BY
    r.started_at DESC,
    r.run_id
LIMIT {most:UInt32}
